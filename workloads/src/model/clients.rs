//! Input from clients: connect requests, pings and requests.

use super::ensemble::Ensemble;
use super::forwarded::{ForwardedKind, ForwardedRequest};
use super::interface::{Conn, Output, Server, Ticket};
use super::op::{Connect, ConnectResponse, Micros, Request};
use super::server::{Member, Outputs};

impl Ensemble {
    /// A client has connected and asks for a session. It is answered, or the connection is closed. A server closes it
    /// if it does not serve, or lags behind the client's last zxid.
    pub fn connect(&mut self, now: Micros, server: Server, conn: Conn, ask: Connect) {
        let Self { options, members, out, .. } = self;
        let member = &mut members[server];
        if !member.is_serving() || ask.last_zxid_seen > member.last_zxid {
            out.push_back(Output::Close { server, conn });
            return;
        }
        let least_ms = i32::try_from(options.timeout_min_ms).unwrap_or(i32::MAX);
        let most_ms = i32::try_from(options.timeout_max_ms).unwrap_or(i32::MAX);
        let timeout_ms = ask.timeout_ms.min(most_ms).max(least_ms);
        if ask.session == 0 {
            let session = member.next_session(now, options.epoch_ms);
            member.open(conn, session, timeout_ms);
            self.forward(server, ForwardedRequest { conn, session, asked: ForwardedKind::Open { timeout_ms } });
            return;
        }
        let session = ask.session;
        if let Some(&older) = member.by_session.get(&session) {
            member.close(older, out);
        }
        if !member.knows(session, ask.password) {
            out.push_back(Output::Connected { server, conn, answer: ConnectResponse::default() });
            out.push_back(Output::Close { server, conn });
            return;
        }
        member.open(conn, session, timeout_ms);
        if let Some(lead) = &mut member.lead {
            let is_valid = lead.tracker.touch(now, session, timeout_ms);
            lead.tracker.set_owner(session, server);
            member.finish_connect(conn, is_valid, out);
            self.take_early(now);
        } else {
            self.forward(server, ForwardedRequest { conn, session, asked: ForwardedKind::Move { timeout_ms } });
        }
    }

    /// A client has pinged. The driver answers the ping.
    pub fn ping(&mut self, now: Micros, server: Server, conn: Conn) {
        self.members[server].touch(now, conn);
    }

    /// A client has sent a request.
    pub fn request(&mut self, now: Micros, server: Server, conn: Conn, xid: i32, request: Request) {
        let Self { members, out, .. } = self;
        let member = &mut members[server];
        let Some(request) = member.keep_early(conn, xid, request) else { return };
        if !member.touch(now, conn) {
            // There was no connect request.
            member.close(conn, out);
            return;
        }
        if is_for_leader(&request) {
            let connection = &member.conns[&conn];
            let (session, proven) = (connection.session, connection.proven.clone());
            let ticket = self
                .forward(server, ForwardedRequest { conn, session, asked: ForwardedKind::Request { request, proven } });
            self.members[server].queue_ordered(conn, xid, ticket);
        } else {
            member.take_read(conn, xid, request, out);
        }
    }

    /// The client's side of a connection is gone. Its watches go with it, but the session stays.
    pub fn disconnected(&mut self, _now: Micros, server: Server, conn: Conn) {
        self.members[server].drop_conn(conn);
    }

    /// Takes the requests that arrived before their connections were open.
    pub(super) fn take_early(&mut self, now: Micros) {
        for server in 0..self.members.len() {
            for (conn, xid, request) in self.members[server].take_early() {
                self.request(now, server, conn, xid, request);
            }
        }
    }

    fn forward(&mut self, server: Server, forwarded: ForwardedRequest) -> Ticket {
        self.tickets += 1;
        let writes = !matches!(forwarded.asked, ForwardedKind::Move { .. });
        let ticket = (self.tickets << 8) | server as Ticket;
        self.members[server].tickets.insert(ticket, forwarded);
        self.out.push_back(Output::Forward { server, ticket, writes });
        ticket
    }
}

/// The server that a ticket comes from.
pub(super) fn origin_of(ticket: Ticket) -> Server {
    (ticket & 0xff) as Server
}

fn is_for_leader(request: &Request) -> bool {
    match request {
        Request::Create { .. }
        | Request::Delete { .. }
        | Request::SetData { .. }
        | Request::SetAcl { .. }
        | Request::Sync { .. }
        | Request::Multi(_)
        | Request::CloseSession => true,
        Request::Exists { .. }
        | Request::GetData { .. }
        | Request::GetAcl { .. }
        | Request::GetChildren { .. }
        | Request::GetEphemerals { .. }
        | Request::CountAllChildren { .. }
        | Request::MultiRead(_)
        | Request::AddWatch { .. }
        | Request::RemoveWatches { .. }
        | Request::SetWatches(_)
        | Request::AddAuth { .. } => false,
    }
}

impl Member {
    /// Contact with the session of a connection; false if there is no open connection.
    fn touch(&mut self, now: Micros, conn: Conn) -> bool {
        let Some(connection) = self.conns.get_mut(&conn).filter(|connection| connection.is_open) else { return false };
        if let Some(lead) = &mut self.lead {
            lead.tracker.touch(now, connection.session, connection.timeout_ms);
        } else if !std::mem::replace(&mut connection.is_touched, true) {
            self.touched.push((conn, connection.session, connection.timeout_ms));
        }
        true
    }

    fn take_read(&mut self, conn: Conn, xid: i32, request: Request, out: &mut Outputs) {
        if let Request::AddAuth { scheme, id } = &request
            && let Some(connection) = self.conns.get_mut(&conn)
        {
            // It applies to all later requests, whether it is answered or not.
            let identity = (scheme.clone(), id.clone());
            if !connection.proven.contains(&identity) {
                connection.proven.push(identity);
            }
        }
        self.queue_read(conn, xid, request, out);
    }
}

//! All requests that can be written, and matching answers.

use hustings_workloads::model::{
    Acl, Code, CreateKind, Read, Request, Response, Stat, TransactionStep, WatcherType, Watches, ZnodeLifetime,
};
use proptest::collection::vec;
use proptest::prelude::*;

fn path() -> impl Strategy<Value = String> {
    "(/[a-zé☃_0-9]{1,8}){1,3}|/|"
}

fn data() -> impl Strategy<Value = Vec<u8>> {
    vec(any::<u8>(), 0..40)
}

fn acl() -> impl Strategy<Value = Vec<Acl>> {
    let entry = (any::<i32>(), "[a-z]{0,6}", "[a-z:]{0,9}").prop_map(|(perms, scheme, id)| Acl { perms, scheme, id });
    vec(entry, 0..3)
}

/// A kind, and whether the stat is requested.
fn kind() -> impl Strategy<Value = (CreateKind, bool)> {
    let life = prop_oneof![
        (Just(ZnodeLifetime::Persistent), any::<bool>(), any::<bool>()),
        (Just(ZnodeLifetime::Ephemeral), any::<bool>(), any::<bool>()),
        (Just(ZnodeLifetime::Container), Just(false), any::<bool>()),
    ];
    life.prop_map(|(life, sequential, with_stat)| (CreateKind { life, sequential }, with_stat))
}

fn step() -> impl Strategy<Value = TransactionStep> {
    prop_oneof![
        // Within a transaction the kind determines whether the answer has the stat.
        (path(), data(), acl(), kind()).prop_map(|(path, data, acl, (kind, _))| {
            let with_stat = kind.life == ZnodeLifetime::Container;
            TransactionStep::Create { path, data, acl, kind, with_stat }
        }),
        (path(), any::<i32>()).prop_map(|(path, version)| TransactionStep::Delete { path, version }),
        (path(), data(), any::<i32>()).prop_map(|(path, data, version)| TransactionStep::SetData {
            path,
            data,
            version
        }),
        (path(), any::<i32>()).prop_map(|(path, version)| TransactionStep::Check { path, version }),
    ]
}

pub(crate) fn request() -> impl Strategy<Value = Request> {
    prop_oneof![
        writes(),
        reads(),
        vec(step(), 0..4).prop_map(Request::Multi),
        vec(
            prop_oneof![path().prop_map(|path| Read::Data { path }), path().prop_map(|path| Read::Children { path })],
            0..4
        )
        .prop_map(Request::MultiRead),
        watches(),
        ("[a-z]{0,8}", "[a-z:]{0,9}").prop_map(|(scheme, id)| Request::AddAuth { scheme, id }),
        Just(Request::CloseSession),
    ]
}

fn writes() -> impl Strategy<Value = Request> {
    prop_oneof![
        (path(), data(), acl(), kind()).prop_map(|(path, data, acl, (kind, with_stat))| Request::Create {
            path,
            data,
            acl,
            kind,
            with_stat
        }),
        (path(), any::<i32>()).prop_map(|(path, version)| Request::Delete { path, version }),
        (path(), data(), any::<i32>()).prop_map(|(path, data, version)| Request::SetData { path, data, version }),
        (path(), acl(), any::<i32>()).prop_map(|(path, acl, version)| Request::SetAcl { path, acl, version }),
        path().prop_map(|path| Request::Sync { path }),
    ]
}

fn reads() -> impl Strategy<Value = Request> {
    prop_oneof![
        (path(), any::<bool>()).prop_map(|(path, watch)| Request::Exists { path, watch }),
        (path(), any::<bool>()).prop_map(|(path, watch)| Request::GetData { path, watch }),
        (path(), any::<bool>(), any::<bool>()).prop_map(|(path, watch, with_stat)| Request::GetChildren {
            path,
            watch,
            with_stat
        }),
        path().prop_map(|path| Request::GetAcl { path }),
        path().prop_map(|prefix| Request::GetEphemerals { prefix }),
        path().prop_map(|path| Request::CountAllChildren { path }),
    ]
}

fn watches() -> impl Strategy<Value = Request> {
    let of = prop_oneof![Just(WatcherType::Children), Just(WatcherType::Data), Just(WatcherType::Any)];
    let paths = || vec(path(), 0..3);
    prop_oneof![
        (path(), any::<bool>()).prop_map(|(path, recursive)| Request::AddWatch { path, recursive }),
        (path(), of, any::<bool>()).prop_map(|(path, of, only_check)| Request::RemoveWatches { path, of, only_check }),
        (any::<i64>(), paths(), paths(), paths(), paths(), paths()).prop_map(
            |(since, data, exist, child, persistent, persistent_recursive)| {
                let watches = Watches { since, data, exist, child, persistent, persistent_recursive };
                Request::SetWatches(Box::new(watches))
            }
        ),
    ]
}

fn stat() -> impl Strategy<Value = Stat> {
    (any::<[i64; 6]>(), any::<[i32; 5]>()).prop_map(|(long, int)| Stat {
        czxid: long[0],
        mzxid: long[1],
        ctime: long[2],
        mtime: long[3],
        version: int[0],
        cversion: int[1],
        aversion: int[2],
        ephemeral_owner: long[4],
        data_length: int[3],
        num_children: int[4],
        pzxid: long[5],
    })
}

fn created(with_stat: bool) -> BoxedStrategy<Response> {
    (path(), stat()).prop_map(move |(path, stat)| Response::Created { path, stat: with_stat.then_some(stat) }).boxed()
}

fn code() -> impl Strategy<Value = Code> {
    prop_oneof![Just(Code::Ok), Just(Code::NoNode), Just(Code::RuntimeInconsistency), Just(Code::BadVersion)]
}

/// A successful answer to this request.
pub(crate) fn response_to(request: &Request) -> BoxedStrategy<Response> {
    match request {
        Request::Create { with_stat, .. } => created(*with_stat),
        Request::Exists { .. } | Request::SetData { .. } | Request::SetAcl { .. } => {
            stat().prop_map(Response::Stat).boxed()
        }
        Request::GetData { .. } => (data(), stat()).prop_map(|(data, stat)| Response::Data { data, stat }).boxed(),
        Request::GetAcl { .. } => (acl(), stat()).prop_map(|(acl, stat)| Response::Acl { acl, stat }).boxed(),
        Request::GetChildren { with_stat, .. } => {
            let with_stat = *with_stat;
            (vec(path(), 0..4), stat())
                .prop_map(move |(names, stat)| Response::Children { names, stat: with_stat.then_some(stat) })
                .boxed()
        }
        Request::GetEphemerals { .. } => vec(path(), 0..4).prop_map(Response::Paths).boxed(),
        Request::CountAllChildren { .. } => any::<i32>().prop_map(Response::Count).boxed(),
        Request::Sync { .. } => path().prop_map(Response::Path).boxed(),
        Request::Multi(steps) => multi(steps),
        Request::MultiRead(reads) => {
            let results: Vec<_> = reads.iter().map(read_result).collect();
            results.prop_map(Response::MultiRead).boxed()
        }
        Request::Delete { .. }
        | Request::AddWatch { .. }
        | Request::RemoveWatches { .. }
        | Request::SetWatches(_)
        | Request::AddAuth { .. }
        | Request::CloseSession => Just(Response::Done).boxed(),
    }
}

fn multi(steps: &[TransactionStep]) -> BoxedStrategy<Response> {
    let good: Vec<BoxedStrategy<Response>> = steps
        .iter()
        .map(|step| match step {
            TransactionStep::Create { with_stat, .. } => created(*with_stat),
            TransactionStep::SetData { .. } => stat().prop_map(Response::Stat).boxed(),
            TransactionStep::Delete { .. } | TransactionStep::Check { .. } => Just(Response::Done).boxed(),
        })
        .collect();
    let good = good.prop_map(Response::Multi).boxed();
    if steps.is_empty() {
        return good;
    }
    prop_oneof![good, vec(code(), steps.len()).prop_map(Response::MultiFailed)].boxed()
}

fn read_result(read: &Read) -> BoxedStrategy<Result<Response, Code>> {
    let good = match read {
        Read::Data { .. } => (data(), stat()).prop_map(|(data, stat)| Response::Data { data, stat }).boxed(),
        Read::Children { .. } => vec(path(), 0..4).prop_map(|names| Response::Children { names, stat: None }).boxed(),
    };
    prop_oneof![good.prop_map(Ok), code().prop_map(Err)].boxed()
}

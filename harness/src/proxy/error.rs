//! Error answers of the API: Toxiproxy's statuses and error body.

use std::net::SocketAddr;

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;

/// `{"error": …, "status": …}`
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct ApiError {
    #[serde(rename = "error")]
    message: String,
    status: u16,
}

impl ApiError {
    fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self { message: message.into(), status: status.as_u16() }
    }

    pub(super) fn bad_body(why: impl std::fmt::Display) -> Self {
        Self::new(StatusCode::BAD_REQUEST, format!("bad request body: {why}"))
    }

    pub(super) fn too_large(bytes_max: usize) -> Self {
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, format!("request body too large: {bytes_max} bytes are the most"))
    }

    pub(super) fn too_slow(within: std::time::Duration) -> Self {
        Self::new(StatusCode::REQUEST_TIMEOUT, format!("the body was not there within {} s", within.as_secs()))
    }

    pub(super) fn bad_query(part: &str) -> Self {
        Self::new(
            StatusCode::BAD_REQUEST,
            format!("unknown query '{part}': brief=true and closed_after=NANOSECONDS are known"),
        )
    }

    pub(super) fn missing(field: impl std::fmt::Display) -> Self {
        Self::new(StatusCode::BAD_REQUEST, format!("missing required field: {field}"))
    }

    pub(super) fn bad_stream() -> Self {
        Self::new(StatusCode::BAD_REQUEST, "stream was invalid, can be either upstream or downstream")
    }

    pub(super) fn bad_toxic_type() -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid toxic type")
    }

    pub(super) fn no_proxy() -> Self {
        Self::new(StatusCode::NOT_FOUND, "proxy not found")
    }

    pub(super) fn no_toxic() -> Self {
        Self::new(StatusCode::NOT_FOUND, "toxic not found")
    }

    pub(super) fn browser() -> Self {
        Self::new(StatusCode::FORBIDDEN, "User agent not allowed")
    }

    pub(super) fn too_many(what: &str, limit: usize) -> Self {
        Self::new(StatusCode::BAD_REQUEST, format!("too many {what}: the limit is {limit}"))
    }

    pub(super) fn own_upstream(name: &str, address: SocketAddr, upstream: &str) -> Self {
        Self::new(
            StatusCode::BAD_REQUEST,
            format!("upstream {upstream} is {address}, where the proxy '{name}' itself listens: give another address"),
        )
    }

    pub(super) fn proxy_exists() -> Self {
        Self::new(StatusCode::CONFLICT, "proxy already exists")
    }

    pub(super) fn toxic_exists() -> Self {
        Self::new(StatusCode::CONFLICT, "toxic already exists")
    }

    /// A port that cannot be bound, or a name that does not resolve.
    pub(super) fn listen(address: &str, why: impl std::fmt::Display) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, format!("cannot listen on {address}: {why}"))
    }

    pub(super) fn slow_look_ups(within: std::time::Duration) -> Self {
        let within = within.as_secs();
        Self::listen("all of these", format!("their look-ups took longer than {within} s: give addresses"))
    }

    /// A failure of the proxy's own.
    pub(super) fn failed(why: impl std::fmt::Display) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, format!("the request was not handled to its end: {why}"))
    }

    /// This error, and a further one.
    pub(super) fn and(self, further: impl std::fmt::Display) -> Self {
        Self { message: format!("{}; {further}", self.message), ..self }
    }
}

impl std::fmt::Display for ApiError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        // Clients recognise an error by the content type text, which Toxiproxy uses.
        let mut response = (status, Json(self)).into_response();
        response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
        response
    }
}

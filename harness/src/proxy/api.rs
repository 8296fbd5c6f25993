//! The HTTP API: Toxiproxy's routes, and three more (`stats` twice, `disconnect`).

use std::collections::BTreeMap;

use axum::body::Bytes;
use axum::extract::path::ErrorKind;
use axum::extract::rejection::PathRejection;
use axum::extract::{DefaultBodyLimit, FromRequestParts, Path, RawQuery, Request, State};
use axum::http::request::Parts;
use axum::http::{StatusCode, header};
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::api_listener::bounded;
use super::body::said;
use super::error::ApiError;
use super::registry::{ProxyChange, Registry};
use super::request::ProxyRequest;
use super::shared::StatsScope;

/// The Toxiproxy release whose API this is.
const SPEAKS: &str = "2.12.0";

type ApiAnswer = Result<Response, ApiError>;

pub(super) fn router(registry: Registry, plain: bool) -> Router {
    Router::new()
        .route("/version", get(async move || version(plain)))
        .route("/reset", post(reset))
        .route("/populate", post(populate))
        .route("/stats", get(all_stats))
        .route("/proxies", get(proxies).post(create_proxy))
        .route("/proxies/{proxy}", get(proxy).post(change_proxy).patch(change_proxy).delete(delete_proxy))
        .route("/proxies/{proxy}/stats", get(stats))
        .route("/proxies/{proxy}/disconnect", post(disconnect))
        .route("/proxies/{proxy}/toxics", get(toxics).post(create_toxic))
        .route(
            "/proxies/{proxy}/toxics/{toxic}",
            get(toxic).post(change_toxic).patch(change_toxic).delete(delete_toxic),
        )
        // Same answer as Go's router.
        .fallback(async || (StatusCode::NOT_FOUND, "404 page not found\n"))
        .method_not_allowed_fallback(async || StatusCode::METHOD_NOT_ALLOWED)
        // The `bounded` layer limits bodies before the handlers see them.
        .layer(DefaultBodyLimit::disable())
        .layer(from_fn(bounded))
        .layer(from_fn(no_browsers))
        .with_state(registry)
}

/// The names in a request's path. Nothing has a name that is no UTF-8: the answer is that of an unknown one.
struct PathNames<T>(T);

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for PathNames<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let names = Path::<T>::from_request_parts(parts, state).await;
        names.map(|Path(names)| Self(names)).map_err(|rejection| unknown_name(&rejection))
    }
}

fn unknown_name(rejection: &PathRejection) -> ApiError {
    if let PathRejection::FailedToDeserializePathParams(error) = rejection
        && let ErrorKind::InvalidUtf8InPathParam { key } = error.kind()
        && key == "toxic"
    {
        return ApiError::no_toxic();
    }
    ApiError::no_proxy()
}

/// The API has no authentication, so it rejects browsers: a web page must not be able to use it.
async fn no_browsers(request: Request, next: Next) -> Response {
    let agent = request.headers().get(header::USER_AGENT).map(|agent| agent.as_bytes());
    if agent.is_some_and(|agent| agent.starts_with(b"Mozilla/")) {
        ApiError::browser().into_response()
    } else {
        next.run(request).await
    }
}

/// Selects the connections in the answer: `?brief=true` for none, `?closed_after=NANOSECONDS` to omit those that closed
/// earlier.
fn extent(query: Option<&str>) -> Result<StatsScope, ApiError> {
    let mut extent = StatsScope::default();
    for part in query.unwrap_or_default().split('&').filter(|part| !part.is_empty()) {
        match part.split_once('=') {
            Some(("brief", value)) => extent.brief = value.parse().map_err(ApiError::bad_body)?,
            Some(("closed_after", value)) => extent.closed_after = value.parse().map_err(ApiError::bad_body)?,
            _ => return Err(ApiError::bad_query(part)),
        }
    }
    Ok(extent)
}

fn show(status: StatusCode, value: impl Serialize) -> Response {
    (status, Json(value)).into_response()
}

fn version(plain: bool) -> Json<Value> {
    let mut version = json!({ "version": SPEAKS });
    if !plain {
        version["hustings"] = json!(env!("CARGO_PKG_VERSION"));
    }
    Json(version)
}

async fn reset(State(registry): State<Registry>) -> ApiAnswer {
    registry.0.lock().await.reset().await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

async fn populate(State(registry): State<Registry>, body: Bytes) -> ApiAnswer {
    let requests: Vec<ProxyRequest> = said(&body)?;
    let mut all = registry.0.lock().await;
    let names = all.populate(requests).await?;
    let views = names.iter().map(|name| all.get(name).map(|relay| relay.view())).collect::<Result<Vec<_>, _>>()?;
    // Go encodes a nil list as `null`.
    let views = Some(views).filter(|views| !views.is_empty());
    Ok(show(StatusCode::CREATED, json!({ "proxies": views })))
}

async fn proxies(State(registry): State<Registry>) -> ApiAnswer {
    let all = registry.0.lock().await;
    let views: BTreeMap<_, _> = all.all().map(|(name, relay)| (name, relay.view())).collect();
    Ok(show(StatusCode::OK, views))
}

async fn create_proxy(State(registry): State<Registry>, body: Bytes) -> ApiAnswer {
    let request: ProxyRequest = said(&body)?;
    let mut all = registry.0.lock().await;
    let relay = all.create(request).await?;
    Ok(show(StatusCode::CREATED, relay.view()))
}

async fn proxy(State(registry): State<Registry>, PathNames(name): PathNames<String>) -> ApiAnswer {
    Ok(show(StatusCode::OK, registry.0.lock().await.get(&name)?.view()))
}

async fn change_proxy(State(registry): State<Registry>, PathNames(name): PathNames<String>, body: Bytes) -> ApiAnswer {
    let mut all = registry.0.lock().await;
    all.get(&name)?;
    let change: ProxyChange = said(&body)?;
    Ok(show(StatusCode::OK, all.change(&name, change).await?.view()))
}

async fn delete_proxy(State(registry): State<Registry>, PathNames(name): PathNames<String>) -> ApiAnswer {
    registry.0.lock().await.delete(&name).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

async fn stats(
    State(registry): State<Registry>,
    PathNames(name): PathNames<String>,
    RawQuery(query): RawQuery,
) -> ApiAnswer {
    let extent = extent(query.as_deref())?;
    Ok(show(StatusCode::OK, registry.0.lock().await.get(&name)?.stats(extent)))
}

async fn all_stats(State(registry): State<Registry>, RawQuery(query): RawQuery) -> ApiAnswer {
    let extent = extent(query.as_deref())?;
    let all = registry.0.lock().await;
    let stats: BTreeMap<_, _> = all.all().map(|(name, relay)| (name, relay.stats(extent))).collect();
    Ok(show(StatusCode::OK, stats))
}

async fn disconnect(State(registry): State<Registry>, PathNames(name): PathNames<String>) -> ApiAnswer {
    Ok(show(StatusCode::OK, registry.0.lock().await.get(&name)?.disconnect()))
}

async fn toxics(State(registry): State<Registry>, PathNames(name): PathNames<String>) -> ApiAnswer {
    Ok(show(StatusCode::OK, registry.0.lock().await.get(&name)?.toxics()))
}

async fn create_toxic(State(registry): State<Registry>, PathNames(name): PathNames<String>, body: Bytes) -> ApiAnswer {
    Ok(show(StatusCode::OK, registry.0.lock().await.add_toxic(&name, &body)?))
}

async fn toxic(State(registry): State<Registry>, PathNames((name, toxic)): PathNames<(String, String)>) -> ApiAnswer {
    Ok(show(StatusCode::OK, registry.0.lock().await.get(&name)?.toxic(&toxic)?))
}

async fn change_toxic(
    State(registry): State<Registry>,
    PathNames((name, toxic)): PathNames<(String, String)>,
    body: Bytes,
) -> ApiAnswer {
    Ok(show(StatusCode::OK, registry.0.lock().await.get_mut(&name)?.update_toxic(&toxic, &body)?))
}

async fn delete_toxic(
    State(registry): State<Registry>,
    PathNames((name, toxic)): PathNames<(String, String)>,
) -> ApiAnswer {
    registry.0.lock().await.get_mut(&name)?.remove_toxic(&toxic)?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

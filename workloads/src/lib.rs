pub mod booth;
#[cfg(any(test, feature = "conformance"))]
pub mod conformance;
pub mod coordination;
pub mod plan;
pub mod recipes;
pub mod scenario;
pub mod seed;

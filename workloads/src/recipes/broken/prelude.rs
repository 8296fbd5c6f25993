//! The names that broken recipes use.

pub(super) use async_trait::async_trait;
pub(super) use hustings_record::{Direction, StepDown};

pub(super) use super::case::{Case, FindingKind, ROTATION, at, sent, sent_after};
pub(super) use super::kinds::*;
pub(super) use crate::coordination::{CreateMode, Session, SessionState, Stat, States, Watch, WatchEvent};
pub(super) use crate::host::{Departure, Host, Nanos, RevokeReason};
pub(super) use crate::model::Bugs;
pub(super) use crate::recipes::candidate::{ArmedWatch, Candidate, OperationAnswer, StepResult, Wake};
pub(super) use crate::recipes::departure::DeletionTimes;
pub(super) use crate::recipes::kind::RecipeKind;
pub(super) use crate::recipes::own_znode::{OwnNode, OwnZnodeState};
pub(super) use crate::recipes::steps::Steps;
pub(super) use crate::recipes::{names, queue};
pub(super) use crate::schedule::{Action, ScheduledRequest, Step};

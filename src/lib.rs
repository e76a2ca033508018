//! monobloc: an agent that runs its language models in its own process. A module uses only modules listed before it.

pub mod base;
pub mod checkpoint;
pub mod language;
pub mod protocol;

pub mod models;

pub mod budget;

pub mod embed;
pub mod engine;
pub mod index;

pub mod lessons;
pub mod retrieve;

pub mod edit;

pub mod tools;

pub mod request;

pub mod context;

pub mod orchestrate;

pub mod measure;
pub mod session;

pub mod app;

pub mod ui;

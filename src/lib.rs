//! monobloc: a whole agent in one process. The modules in the order in which they stand on each other.

pub mod base;
pub mod checkpoint;
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

pub mod orchestrate;

pub mod measure;
pub mod session;

pub mod app;

pub mod ui;

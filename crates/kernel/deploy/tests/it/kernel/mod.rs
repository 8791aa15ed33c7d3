//! With a real kernel, between two network namespaces of the test's own.

mod bench;
mod early;
mod edge;
mod interruptions;
mod life;
mod link_layer;
mod load;
mod pieces;
mod place;
mod plans;
mod received;
mod shares;
mod times;

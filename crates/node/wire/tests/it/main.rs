//! Headers to bytes and back, any bytes to headers, and both beside another parser.

mod corpus;
mod headers;
mod laws;
mod layers;
mod oracle;
mod packets;

//! LDAP servers whose answers have no end.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

use shortflow_agent::{Bind, Directory, DirectoryOptions, Source, Transport};

/// A server whose answer to each request goes on for ever with what `piece` makes of the request's number.
fn server(piece: fn(u8) -> Vec<u8>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("ldap://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for connection in listener.incoming().flatten() {
            std::thread::spawn(move || answer(connection, piece));
        }
    });
    url
}

fn answer(mut connection: TcpStream, piece: fn(u8) -> Vec<u8>) {
    let mut request = [0; 4096];
    let read = connection.read(&mut request).unwrap_or(0);
    // A request of less than 128 bytes: its sequence, then its number of one byte.
    let [0x30, _, 0x02, 0x01, number, ..] = request[..read] else { return };
    let pieces = piece(number).repeat(100);
    while connection.write_all(&pieces).is_ok() {}
}

/// A type, a length of two bytes, and what it holds (X.690, 8.1.3).
fn element(kind: u8, content: &[u8]) -> Vec<u8> {
    let length = u16::try_from(content.len()).unwrap().to_be_bytes();
    [&[kind, 0x82, length[0], length[1]], content].concat()
}

/// A found entry whose only attribute has a value of so many bytes (RFC 4511, 4.5.2).
fn entry(number: u8, bytes: usize) -> Vec<u8> {
    let values = element(0x31, &element(0x04, &vec![b'x'; bytes]));
    let attribute = element(0x30, &[element(0x04, b"description"), values].concat());
    let attributes = element(0x30, &attribute);
    let found = element(0x64, &[element(0x04, b"cn=a"), attributes].concat());
    element(0x30, &[vec![0x02, 0x01, number], found].concat())
}

fn failure(piece: fn(u8) -> Vec<u8>) -> String {
    let url = server(piece);
    let asked = Transport::AsUrl;
    let options = DirectoryOptions::new(&url, "cn=a", Bind::Anonymous, asked, None, None).unwrap();
    Directory::new(options).unwrap().fetch().unwrap_err().to_string()
}

#[test]
fn small_entries_without_end_are_refused_by_their_number() {
    let why = failure(|number| entry(number, 1));
    assert_eq!(why, "the answer is too large: more than 100000 entries or 64 MB");
}

#[test]
fn large_entries_without_end_are_refused_by_their_bytes() {
    let why = failure(|number| entry(number, 60_000));
    assert_eq!(why, "the answer is too large: more than 100000 entries or 64 MB");
}

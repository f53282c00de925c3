//! Just enough of HTTP/1.1 for a test server: reads a request, writes a head and chunks.

use std::io::{self, BufRead, Read, Write};

use crate::server::Request;

/// Reads one request; `None` when the client closed the connection between two of them.
pub(crate) fn read_request(reader: &mut impl BufRead) -> io::Result<Option<Request>> {
    let Some(first) = read_line(reader)? else { return Ok(None) };
    let mut words = first.split(' ');
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let mut request =
        Request { method: method.to_owned(), path: path.to_owned(), headers: Vec::new(), body: Vec::new() };
    while let Some(line) = read_line(reader)?.filter(|line| !line.is_empty()) {
        let (name, value) = line.split_once(':').ok_or(io::ErrorKind::InvalidData)?;
        request.headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    request.body = read_body(reader, &request)?;
    Ok(Some(request))
}

fn read_body(reader: &mut impl BufRead, request: &Request) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    if request.header("transfer-encoding").is_some_and(|v| v.eq_ignore_ascii_case("chunked")) {
        loop {
            let size = read_line(reader)?.ok_or(io::ErrorKind::UnexpectedEof)?;
            let size = u64::from_str_radix(size.trim(), 16).map_err(|_| io::ErrorKind::InvalidData)?;
            reader.take(size).read_to_end(&mut body)?;
            read_line(reader)?;
            if size == 0 {
                return Ok(body);
            }
        }
    }
    let length = request.header("content-length").map_or(Ok(0), str::parse);
    let length: u64 = length.map_err(|_| io::ErrorKind::InvalidData)?;
    reader.take(length).read_to_end(&mut body)?;
    Ok(body)
}

fn read_line(reader: &mut impl BufRead) -> io::Result<Option<String>> {
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    line.truncate(line.trim_end_matches(['\r', '\n']).len());
    Ok(Some(line))
}

/// Writes status line and headers.
pub(crate) fn write_head(
    writer: &mut impl Write,
    status: u16,
    headers: &[(String, String)],
) -> io::Result<()> {
    let mut head = format!("HTTP/1.1 {status} {}\r\n", reason(status));
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("\r\n");
    writer.write_all(head.as_bytes())
}

/// Writes one chunk with a single `write`, so that it is not torn into several packets.
pub(crate) fn write_chunk(writer: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
    let mut chunk = format!("{:x}\r\n", bytes.len()).into_bytes();
    chunk.extend_from_slice(bytes);
    chunk.extend_from_slice(b"\r\n");
    writer.write_all(&chunk)
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        301 => "Moved Permanently",
        302 => "Found",
        307 => "Temporary Redirect",
        400 => "Bad Request",
        401 => "Unauthorized",
        404 => "Not Found",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        503 => "Service Unavailable",
        _ => "Status",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_with_length_and_in_chunks() {
        let bytes = b"POST /a HTTP/1.1\r\nX-Key: v\r\nContent-Length: 2\r\n\r\nhiPOST /b HTTP/1.1\r\n\
            Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n";
        let mut reader = &bytes[..];
        let a = read_request(&mut reader).unwrap().unwrap();
        let b = read_request(&mut reader).unwrap().unwrap();
        assert_eq!((a.path.as_str(), a.header("x-key"), a.body.as_slice()), ("/a", Some("v"), &b"hi"[..]));
        assert_eq!((b.path.as_str(), b.body.as_slice()), ("/b", &b"abcde"[..]));
        assert_eq!(read_request(&mut reader).unwrap(), None);
    }
}

//! What a text delta costs each decoder: time, instructions, allocations; and whether a long answer needs more
//! memory than a short one. Measured in child processes, from the bytes of a network read to the engine's chunks.

use std::future::poll_fn;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use zori_core::message::Message;
use zori_core::provider::{Chunk, Delivery, Request};

use super::area::{Bench, RUNS};
use super::count::allocations;
use super::figure::{Amount, Bar, Figure, median, megabytes};
use super::long_answer::{VENDORS, Vendor};
use super::run;

/// What the child is called with, before the provider and the number of deltas.
pub const CHILD: &str = "--decode";
/// Deltas of a timed run.
const TIMED: usize = 20_000;
/// Deltas of the two runs whose instructions are compared; what they share is no delta's.
const COUNTED: [usize; 2] = [2_000, 12_000];
/// A stream that is long, and one that is not.
const LONG: usize = 100_000_000;
const SHORT: usize = 1_000_000;
/// "Flat": how much more a long stream may need than a short one.
const FLAT: f64 = 1.1;

/// What one child measured, per delta.
struct Cost {
    micros: f64,
    allocations: f64,
}

/// What decoding one answer took.
struct Measured {
    time: Duration,
    allocations: u64,
}

/// Measures every vendor.
pub fn decode(bench: &Bench) -> Result<Vec<Figure>> {
    let own = std::env::current_exe().context("cannot find this program")?;
    let mut figures = Vec::new();
    let valgrind = has_valgrind();
    if !valgrind {
        eprintln!("valgrind is not installed: no instructions are counted");
    }
    for vendor in VENDORS {
        let costs = (0..RUNS).map(|_| cost(&own, vendor)).collect::<Result<Vec<_>>>()?;
        let micros = median(&costs.iter().map(|cost| cost.micros).collect::<Vec<_>>());
        let allocations = median(&costs.iter().map(|cost| cost.allocations).collect::<Vec<_>>());
        let mut add = |what, value, unit, bar| {
            figures.push(Figure {
                name: name(vendor, what),
                measured: Amount { value, unit },
                floor: None,
                bar,
            });
        };
        add("text delta", micros, "µs", Bar::Under(5.0));
        add("allocations per text delta", allocations, "times", Bar::Under(1.01));
        if valgrind {
            add("text delta, by callgrind", instructions(&own, vendor)?, "instructions", Bar::None);
        }
        let peak = |bytes| -> Result<_> {
            let mut command = child(&own, vendor, vendor.deltas_in(bytes));
            command.env_clear().current_dir(bench.work());
            Ok(megabytes(run::peak_memory(bench.launcher(), &bench.note(), &command)?))
        };
        figures.push(Figure {
            name: name(vendor, "peak memory over 100 MB, beside 1 MB"),
            measured: peak(LONG)?,
            floor: Some(peak(SHORT)?),
            bar: Bar::Ratio(FLAT),
        });
    }
    Ok(figures)
}

/// Decodes one answer and prints what it took: `MICROSECONDS ALLOCATIONS`, per delta.
pub fn in_child(args: &[String]) -> Result<ExitCode> {
    let [name, deltas] = args else { bail!("usage: {CHILD} PROVIDER DELTAS") };
    let deltas: usize = deltas.parse().context("DELTAS is a number")?;
    let measured = decode_once(Vendor::by_name(name)?, deltas)?;
    let each = |total: f64| total / deltas as f64;
    println!("{} {}", each(measured.time.as_secs_f64() * 1e6), each(measured.allocations as f64));
    Ok(ExitCode::SUCCESS)
}

/// Decodes one answer.
fn decode_once(vendor: &Vendor, deltas: usize) -> Result<Measured> {
    let provider = vendor.provider(deltas)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
    let (tools, messages) = (Arc::default(), [Arc::new(Message::user("hi"))]);
    let request = Request {
        model: "m",
        system: None,
        tools: &tools,
        messages: &messages,
        max_tokens: None,
        temperature: None,
        effort: None,
        delivery: Delivery::Streamed,
    };
    let (measured, seen) = runtime
        .block_on(async {
            let mut stream = provider.stream(&request).await?;
            let (began, before) = (Instant::now(), allocations());
            let mut seen = 0;
            while let Some(chunk) = poll_fn(|cx| stream.as_mut().poll_next(cx)).await {
                seen += usize::from(matches!(chunk?, Chunk::Text(text) if text == "word "));
            }
            let measured = Measured { time: began.elapsed(), allocations: allocations() - before };
            Ok::<_, zori_core::failure::ProviderFailure>((measured, seen))
        })
        .map_err(|failure| anyhow::anyhow!("{failure}"))?;
    ensure!(seen == deltas, "{seen} of {deltas} deltas arrived");
    Ok(measured)
}

fn child(own: &Path, vendor: &Vendor, deltas: usize) -> Command {
    let mut command = Command::new(own);
    command.args(["bench", CHILD, vendor.name, &deltas.to_string()]);
    command
}

fn cost(own: &Path, vendor: &Vendor) -> Result<Cost> {
    let output = child(own, vendor, TIMED).stderr(Stdio::inherit()).output()?;
    ensure!(output.status.success(), "decoding `{}` failed", vendor.name);
    let text = String::from_utf8(output.stdout)?;
    let (micros, allocations) = text.trim().split_once(' ').context("the child prints two numbers")?;
    Ok(Cost { micros: micros.parse()?, allocations: allocations.parse()? })
}

/// Returns the instructions of one delta: what a longer answer takes more, divided by how much longer it is.
fn instructions(own: &Path, vendor: &Vendor) -> Result<f64> {
    let counted = |deltas: usize| -> Result<f64> {
        let inner = child(own, vendor, deltas);
        let mut command = Command::new("valgrind");
        command
            .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
            .arg(inner.get_program())
            .args(inner.get_args());
        let output = command.output().context("cannot run valgrind")?;
        ensure!(output.status.success(), "callgrind failed for `{}`", vendor.name);
        collected(&String::from_utf8_lossy(&output.stderr)).context("callgrind did not say what it collected")
    };
    let [few, many] = COUNTED;
    Ok((counted(many)? - counted(few)?) / (many - few) as f64)
}

/// Reads callgrind's `==1== Collected : 12345`.
fn collected(text: &str) -> Option<f64> {
    text.lines().find_map(|line| line.split_once("Collected : "))?.1.trim().parse().ok()
}

fn has_valgrind() -> bool {
    let mut probe = Command::new("valgrind");
    probe.arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
    probe.status().is_ok_and(|status| status.success())
}

/// Returns a figure's name, which is kept until the program ends, like all the others.
fn name(vendor: &Vendor, what: &str) -> &'static str {
    format!("{}: {what}", vendor.name).leak()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_answer_can_be_decoded() {
        for vendor in VENDORS {
            in_child(&[vendor.name.to_owned(), "300".to_owned()]).unwrap();
        }
    }

    /// What a longer answer takes more is the text of its deltas, to the allocation.
    #[test]
    fn a_delta_allocates_its_text() {
        for vendor in VENDORS {
            let count = |deltas| decode_once(vendor, deltas).unwrap().allocations;
            assert_eq!(count(3_000) - count(1_000), 2_000, "{}", vendor.name);
        }
    }

    #[test]
    fn what_callgrind_says() {
        let text = "==7== \n==7== Events    : Ir\n==7== Collected : 1234567\n";
        assert_eq!((collected(text), collected("")), (Some(1_234_567.0), None));
    }
}

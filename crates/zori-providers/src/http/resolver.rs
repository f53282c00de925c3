//! Name resolution that leaves out addresses a request must not reach (DECISIONS 54). The client dials what this returns,
//! so a name that changes its mind between a check and the connection gains nothing.

use std::net::{IpAddr, SocketAddr};

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use zori_core::transport::{Addresses, Network};

/// Resolves names to addresses of the allowed kind.
pub(super) struct AllowedAddresses(pub(super) Addresses);

impl Resolve for AllowedAddresses {
    fn resolve(&self, name: Name) -> Resolving {
        let allowed = self.0;
        Box::pin(async move {
            let host = name.as_str().to_owned();
            let found: Vec<SocketAddr> = tokio::net::lookup_host((host.as_str(), 0)).await?.collect();
            // These names mean this machine, and were judged as that.
            let local = host == "localhost" || host.ends_with(".localhost");
            // One address that must not be reached is enough: names of a kind do not mix them.
            let barred = found.iter().map(SocketAddr::ip).find(|ip| !allowed.allow(*ip) && !local);
            match barred {
                Some(ip) => Err(refusal(&host, ip).into()),
                None => Ok(Box::new(found.into_iter()) as Addrs),
            }
        })
    }
}

fn refusal(host: &str, ip: IpAddr) -> String {
    let kind = Network::of(ip).as_str();
    format!("{host} leads to {ip}, a {kind} address; name the address itself to be asked about it")
}

#[cfg(test)]
mod tests {
    use std::str::FromStr;

    use super::*;

    /// Resolves a name that needs no server: an address, or one of this machine's own names.
    fn resolved(allowed: Addresses, host: &str) -> Result<Vec<String>, String> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let name = Name::from_str(host).unwrap();
        let found = runtime.block_on(AllowedAddresses(allowed).resolve(name));
        found
            .map(|found| found.map(|found| found.ip().to_string()).collect())
            .map_err(|error| error.to_string())
    }

    /// DECISIONS 54: it is the address that is dialled that counts, however a name came by it.
    #[test]
    fn what_a_name_may_lead_to() {
        let own = |host: &str, ip: &str, kind: &str| {
            Err(format!(
                "{host} leads to {ip}, a {kind} address; name the address itself to be asked about it"
            ))
        };
        for (host, kind) in
            [("127.0.0.1", "loopback"), ("10.1.2.3", "private"), ("169.254.169.254", "link-local")]
        {
            assert_eq!(resolved(Addresses::Public, host), own(host, host, kind), "{host}");
        }
        for host in ["127.0.0.1", "10.1.2.3"] {
            assert_eq!(resolved(Addresses::NotLinkLocal, host), Ok(vec![host.to_owned()]));
        }
        let metadata = "169.254.169.254";
        assert_eq!(resolved(Addresses::NotLinkLocal, metadata), own(metadata, metadata, "link-local"));
        assert_eq!(resolved(Addresses::Any, metadata), Ok(vec![metadata.to_owned()]));
        assert_eq!(resolved(Addresses::Public, "192.0.2.1"), Ok(vec!["192.0.2.1".to_owned()]));
        // Written as version 6 it is what it is.
        assert!(resolved(Addresses::Public, "::ffff:10.0.0.1").unwrap_err().contains("a private address"));
    }

    /// This machine by its own name was judged as this machine.
    #[test]
    fn the_names_of_this_machine() {
        let found = resolved(Addresses::Public, "localhost").unwrap();
        assert!(found.iter().all(|ip| ip == "127.0.0.1" || ip == "::1"), "{found:?}");
    }
}

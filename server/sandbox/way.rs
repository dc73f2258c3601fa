//! The one way out of a command's own network: a socket that listens in there and is served from outside. Whoever
//! is about to become the command makes it and hands it over; nothing of it is left inside but its address.

use std::net::Ipv4Addr;

use crate::web::Gateway;

/// Where the proxy is, in a network in which nobody else is.
pub const PORT: u16 = 3128;

/// What a command reaches beyond its workspace.
#[derive(Clone, Default)]
pub enum Network {
    #[default]
    None,
    /// What this lets through, by HTTP; the command's network has nothing else in it.
    Through(Gateway),
    /// The machine's own.
    Whole,
}

impl Network {
    pub(super) fn is_whole(&self) -> bool {
        matches!(self, Self::Whole)
    }

    /// What tells programs of the way.
    pub(super) fn environment(&self) -> Vec<(&'static str, String)> {
        let Self::Through(gateway) = self else {
            return Vec::new();
        };
        let at = format!("http://{}:{PORT}", Ipv4Addr::LOCALHOST);
        let direct = gateway.direct().join(",");
        let proxies = [
            "HTTP_PROXY",
            "HTTPS_PROXY",
            "ALL_PROXY",
            "http_proxy",
            "https_proxy",
            "all_proxy",
        ];
        let mut environment: Vec<_> = proxies.map(|name| (name, at.clone())).into();
        environment.extend(["NO_PROXY", "no_proxy"].map(|name| (name, direct.clone())));
        // Node's own requests follow the others only then.
        environment.push(("NODE_USE_ENV_PROXY", String::from("1")));
        environment
    }
}

#[cfg(target_os = "linux")]
pub(super) use linux::*;

#[cfg(not(target_os = "linux"))]
pub(super) use elsewhere::*;

/// There is bubblewrap on Linux alone, and no way without it.
#[cfg(not(target_os = "linux"))]
mod elsewhere {
    use std::net::TcpListener;
    use std::process::Stdio;

    pub type Input = tokio::io::Sink;

    pub fn input() -> std::io::Result<(Stdio, Input)> {
        Err(std::io::ErrorKind::Unsupported.into())
    }

    pub async fn receive(_: Input) -> Option<TcpListener> {
        None
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use std::io::{IoSlice, IoSliceMut};
    use std::mem::MaybeUninit;
    use std::net::{Ipv4Addr, SocketAddr, TcpListener};
    use std::os::fd::{AsFd as _, OwnedFd};
    use std::process::Stdio;

    use anyhow::Context as _;
    use rustix::net::{
        RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
        SendAncillaryMessage, SendFlags,
    };
    use tokio::io::Interest;
    use tokio::net::UnixStream;

    use super::PORT;

    pub type Input = UnixStream;

    /// A standard input by which the order goes in, and the socket comes out by which a command leaves its network.
    pub fn input() -> std::io::Result<(Stdio, Input)> {
        let (ours, theirs) = std::os::unix::net::UnixStream::pair()?;
        ours.set_nonblocking(true)?;
        Ok((OwnedFd::from(theirs).into(), UnixStream::from_std(ours)?))
    }

    /// Makes the socket, and sends it to where the order came from.
    pub fn hand_over() -> anyhow::Result<()> {
        let listener =
            TcpListener::bind((Ipv4Addr::LOCALHOST, PORT)).context("the way to the network")?;
        let sent = [listener.as_fd()];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        anyhow::ensure!(
            control.push(SendAncillaryMessage::ScmRights(&sent)),
            "a socket cannot be handed over"
        );
        let byte = [IoSlice::new(b"\n")];
        rustix::net::sendmsg(std::io::stdin(), &byte, &mut control, SendFlags::NOSIGNAL)
            .context("the way to the network")?;
        Ok(())
    }

    /// Waits for what [`hand_over`] sends; `None`: it ended before.
    pub async fn receive(from: Input) -> Option<TcpListener> {
        let listener = loop {
            from.readable().await.ok()?;
            let received = from.try_io(Interest::READABLE, || {
                let mut byte = [0];
                let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
                let mut control = RecvAncillaryBuffer::new(&mut space);
                let flags = RecvFlags::CMSG_CLOEXEC | RecvFlags::DONTWAIT;
                let mut bytes = [IoSliceMut::new(&mut byte)];
                rustix::net::recvmsg(&from, &mut bytes, &mut control, flags)?;
                let listener = control.drain().find_map(|message| match message {
                    RecvAncillaryMessage::ScmRights(mut sent) => sent.next(),
                    _ => None,
                });
                Ok(listener.map(TcpListener::from))
            });
            match received {
                Ok(received) => break received?,
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
                Err(_) => return None,
            }
        };
        // Our own program sent it, and nobody else could have yet.
        let expected = SocketAddr::from((Ipv4Addr::LOCALHOST, PORT));
        (listener.local_addr().ok()? == expected).then_some(listener)
    }
}

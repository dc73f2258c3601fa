//! The way that an agent's commands have to the network, as the settings grant it.

use std::net::TcpListener;
use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::BoxFuture;

use crate::config;
use crate::sandbox::{Network, Tell, WayOut};
use crate::web::Gateway;

pub(super) fn of(granted: &config::Network, web: &config::Web) -> Network {
    let through = |hosts: Option<&[String]>| {
        let gateway = Gateway::new(hosts, &web.allow, web.proxy.as_deref());
        Network::Through(Arc::new(Out(gateway)))
    };
    match granted {
        config::Network::None => Network::None,
        config::Network::Hosts(hosts) => through(Some(hosts)),
        config::Network::Public => through(None),
        config::Network::Whole => Network::Whole,
    }
}

struct Out(Gateway);

impl WayOut for Out {
    fn direct(&self) -> Vec<&'static str> {
        self.0.direct()
    }
    fn serve(&self, at: TcpListener, tell: Tell) -> BoxFuture<'static, ()> {
        self.0.clone().serve(at, tell).boxed()
    }
}

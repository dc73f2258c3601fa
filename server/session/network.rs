//! The way that an agent's commands have to the network, as the settings grant it.

use crate::config;
use crate::sandbox::Network;
use crate::web::Gateway;

pub(super) fn of(granted: &config::Network, web: &config::Web) -> Network {
    let through = |hosts: Option<&[String]>| {
        Network::Through(Gateway::new(hosts, &web.allow, web.proxy.as_deref()))
    };
    match granted {
        config::Network::None => Network::None,
        config::Network::Hosts(hosts) => through(Some(hosts)),
        config::Network::Public => through(None),
        config::Network::Whole => Network::Whole,
    }
}

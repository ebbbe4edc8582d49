// The page.

import { mount } from "svelte";
import Studio from "./Studio.svelte";
import { Server, tokenOf } from "./server";
import { Session } from "./session.svelte";

const server = new Server(tokenOf(location, sessionStorage));
mount(Studio, { target: document.body, props: { session: new Session(server, location.search === "?tour" ? "Tour" : null) } });

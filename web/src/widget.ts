// The module that anywidget loads.

import { mount, unmount } from "svelte";
import Live from "./Live.svelte";
import { KernelClient, type Model } from "./kernel";

function render({ model, el }: { model: Model; el: HTMLElement }): () => void {
  const client = new KernelClient(model);
  const view = mount(Live, { target: el, props: { client } });
  return () => {
    void unmount(view);
    client.close();
  };
}

export default { render };

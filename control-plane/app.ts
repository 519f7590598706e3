import type { FastifyInstance } from 'fastify';
import type { Histogram } from 'prom-client';
import type { Address } from '../platform/setting-kinds.ts';
import { buildPanel, type PanelOptions } from './panel/app.ts';
import { ControlProxy } from './panel/proxy.ts';
import { buildControl } from './routes/app.ts';
import type { Services } from './routes/route.ts';

export interface AppOptions extends Pick<PanelOptions, 'ports' | 'origin' | 'trustedProxies'> {
  services: Services;
  /** A random text of this process, with which its panel is recognised. */
  pass: string;
  seconds?: Histogram<'listener' | 'route' | 'method' | 'status'>;
}

export interface App {
  /** Never public. */
  control: FastifyInstance;
  /** In front of the control plane, once that listens at an address. */
  panelBefore: (control: Address) => FastifyInstance;
}

/** Both listeners over their services; they listen nowhere yet. */
export function buildApp({
  ports,
  services,
  pass,
  origin,
  trustedProxies,
  seconds,
}: AppOptions): App {
  const measured = seconds ? { seconds } : {};
  return {
    control: buildControl({ ports, services, pass, ...measured }),
    panelBefore(control) {
      const proxy = new ControlProxy({ control, cookies: ports.cookies, pass });
      const panel = buildPanel({ ports, proxy, origin, trustedProxies, ...measured });
      panel.addHook('onClose', () => proxy.close());
      return panel;
    },
  };
}

import type { Channel } from '../../events/channels/channel-change.ts';
import type { MessageVariables, TriedRendering } from '../delivery/prepare-messages.ts';
import type { TemplateContent } from '../templates/template.ts';

/** Messages of one template. */
export interface RenderJob {
  /** Name of a template that never changes; empty: it is parsed each time. */
  key: string;
  channel: Channel;
  content: TemplateContent;
  variables: readonly MessageVariables[];
}

/** The first messages of a job; the thread stops when it has worked for a while. */
export interface RenderedJob {
  renderings: TriedRendering[];
  /** Time of a core that messages took which are much more expensive than others, ms. */
  wastedMs: number;
}

/** Sent once, when the thread can work. */
export const READY = 'ready';

/** What a thread is started with. */
export interface ThreadData {
  /** One 32-bit integer: the message of the job that is being rendered. */
  progress: SharedArrayBuffer;
}

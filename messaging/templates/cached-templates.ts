import { utf8Length } from '../../events/bytes.ts';
import type { TemplateStore } from './template-store.ts';
import type { TemplateVersion } from './template.ts';

/** Bytes of contents that one process keeps. */
const MAX_KEPT_BYTES = 32 * 2 ** 20;

/** Versions never change, so those that were used last are kept. */
export class CachedTemplates {
  readonly #store: Pick<TemplateStore, 'version'>;
  readonly #maxBytes: number;
  /** In the order of their last use. */
  readonly #kept = new Map<string, { template: TemplateVersion; bytes: number }>();
  readonly #reading = new Map<string, Promise<TemplateVersion | undefined>>();
  #bytes = 0;

  constructor(store: Pick<TemplateStore, 'version'>, maxBytes = MAX_KEPT_BYTES) {
    this.#store = store;
    this.#maxBytes = maxBytes;
  }

  /** Undefined: there is no such version. Rejects when the store does. */
  async version(templateId: number, version: number): Promise<TemplateVersion | undefined> {
    const key = `${templateId}:${version}`;
    const known = this.#kept.get(key);
    if (known) {
      this.#kept.delete(key);
      this.#kept.set(key, known);
      return known.template;
    }
    const reading = this.#reading.get(key) ?? this.#read(key, { templateId, version });
    return await reading;
  }

  async #read(
    key: string,
    { templateId, version }: { templateId: number; version: number },
  ): Promise<TemplateVersion | undefined> {
    const reading = this.#store.version(templateId, version);
    this.#reading.set(key, reading);
    try {
      const template = await reading;
      if (template) this.#keep(key, template);
      return template;
    } finally {
      this.#reading.delete(key);
    }
  }

  #keep(key: string, template: TemplateVersion): void {
    const bytes = utf8Length(JSON.stringify(template.content));
    this.#kept.set(key, { template, bytes });
    this.#bytes += bytes;
    for (const [oldest, other] of this.#kept) {
      if (this.#bytes <= this.#maxBytes) break;
      this.#kept.delete(oldest);
      this.#bytes -= other.bytes;
    }
  }
}

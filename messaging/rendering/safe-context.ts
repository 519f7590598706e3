import { Context, type Liquid } from 'liquidjs';
import { MAX_FILTERED, MAX_MISSING, MAX_MISSING_CHARACTERS } from './limits.ts';
import type { RenderBudget } from './render-budget.ts';

/** Not even what liquidjs itself puts beside variables (`forloop`) may lead to a prototype. */
const HIDDEN: ReadonlySet<unknown> = new Set(['__proto__', 'constructor', 'prototype']);
/** Liquid gives these to every object; a trait of such a name that is missing must render empty. */
const COMPUTED: ReadonlySet<unknown> = new Set(['size', 'first', 'last']);

/** Variables of one part of one message: own properties only; notes those that are missing. */
export class SafeContext extends Context {
  readonly #missing: Set<string>;
  /** Read since the output began, and not there. */
  #absent: string[] = [];

  constructor(
    variables: object,
    { engine, missing, budget }: { engine: Liquid; missing: Set<string>; budget: RenderBudget },
  ) {
    // A scope without a prototype of its own: `{% increment user %}` changes this part only.
    const scope = Object.assign(Object.create(null) as object, variables);
    super(
      scope,
      engine.options,
      { sync: true, memoryLimit: MAX_FILTERED },
      { renderLimit: budget.asLimiter(), liquid: engine },
    );
    this.#missing = missing;
  }

  override *_get(path: Parameters<Context['_get']>[0]): IterableIterator<unknown> {
    const value: unknown = yield super._get(path);
    if (value === undefined || value === null) this.#absent.push(nameOf(path));
    return value;
  }

  override readProperty(...[scope, key]: Parameters<Context['readProperty']>): unknown {
    if ((HIDDEN.has(key) || COMPUTED.has(key)) && isPlainObject(scope))
      return Object.hasOwn(scope, key as string) ? scope[key as string] : undefined;
    if (HIDDEN.has(key)) return undefined;
    return super.readProperty(scope, key);
  }

  beginOutput(): void {
    this.#absent = [];
  }

  /** An output that is empty because of missing variables; a default hides them. */
  endOutput(isEmpty: boolean): void {
    if (!isEmpty) return;
    for (const name of this.#absent) if (this.#missing.size < MAX_MISSING) this.#missing.add(name);
  }
}

/** `user.first_name`; an element or a computed key is `[]`. */
function nameOf(path: readonly unknown[]): string {
  const names = path.map((key) => (typeof key === 'string' ? key : '[]'));
  return names.join('.').slice(0, MAX_MISSING_CHARACTERS);
}

function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

import type { Template } from './queries.ts';

/** As many as a request may have (management 2.8). */
const MAX = 40;

/** The names behind `vars.` in a template: whoever sends it gives their values. */
export function requestVariables({ content }: Pick<Template, 'content'>): string[] {
  const tags = Object.values(content).flatMap((text) => text.match(/\{[{%][^]*?[%}]\}/g) ?? []);
  const names = tags.flatMap((tag) =>
    [...tag.matchAll(/(?<![\w.])vars\.([a-z_][\w-]*)/gi)].map(([, name = '']) => name),
  );
  return [...new Set(names)].slice(0, MAX);
}

import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import type { MessageVariables } from '../delivery/prepare-messages.ts';
import type { TemplateContent } from '../templates/template.ts';
import { RendererBusy, TemplateRenderer, type TemplateToRender } from './template-renderer.ts';

const MINUTE = 60_000;
/** As in production, at a fifth of the cost: two hangs of a version, four of an account. */
const CPU_LIMITS = { job: 300, version: 600, account: 1200 };
let now = 0;
const stopped: string[] = [];
const renderer = new TemplateRenderer({
  threads: 2,
  cpuLimits: CPU_LIMITS,
  now: () => now,
  onStopped: ({ templateId }, why) => stopped.push(`${templateId} ${why}`),
});
afterAll(() => renderer.close());

let lastId = 0;
function template(content: TemplateContent | string, accountId = 1): TemplateToRender {
  return {
    ...{ templateId: ++lastId, version: 1, accountId, channel: 'sms' },
    content: typeof content === 'string' ? { text: content } : content,
  };
}

function variables(vars: MessageVariables['vars']): MessageVariables {
  return { user: {}, vars, event: {} };
}

/** Filters check no time while they sort: the thread has to be ended. */
const HANGS = `{{ vars.list | ${'sort_natural: "a" | sort_natural: "b" | '.repeat(40)} size }}`;
const LONG_LIST = Array.from({ length: 20_000 }, (_, at) => ({
  a: `${'x'.repeat(300)}${(at * 7919) % 20_011}`,
  b: `${'x'.repeat(300)}${(at * 6287) % 20_011}`,
}));

// Each test begins with a new window.
beforeEach(() => {
  now += MINUTE;
});

describe('rendering in threads', () => {
  it('answers in the order of the messages, with what is missing in each', async () => {
    const messages = Array.from({ length: 350 }, (_, at) =>
      variables(at % 2 === 0 ? { n: at } : { n: at, x: '!' }),
    );
    const renderings = await renderer.renderMany(template('{{ vars.n }}{{ vars.x }}'), messages);
    expect(renderings).toHaveLength(350);
    for (const [at, rendering] of renderings.entries())
      expect(rendering).toMatchObject(
        at % 2 === 0
          ? { content: { text: String(at) }, missing: ['vars.x'] }
          : { content: { text: `${at}!` }, missing: [] },
      );
  });

  it('answers with the mistake of a template that cannot be used', async () =>
    expect(await renderer.render(template('{{ x'), variables({}))).toEqual({
      error: 'text, line 1, column 1: output "{{ x" not closed',
    }));

  it('reads a version of a template once, and a draft each time', async () => {
    const version = template('old');
    await renderer.render(version, variables({}));
    const changed = { ...version, content: { text: 'new' } };
    // Both threads have it, or one of them renders what it is given.
    expect(['old', 'new']).toContain(textOf(await renderer.render(changed, variables({}))));
    for (const text of ['a', 'b'])
      expect(
        textOf(await renderer.render({ ...template(text), templateId: 0 }, variables({}))),
      ).toBe(text);
  });

  it('ends a thread that hangs, and renders the other messages of the job', async () => {
    const list = [{ a: 'b' }, { a: 'a' }];
    const renderings = await renderer.renderMany(
      template(HANGS),
      [list, list, LONG_LIST, list].map((one) => variables({ list: one })),
    );
    expect(renderings.map(textOf)).toEqual([
      '2',
      '2',
      'the template was stopped: it took too long',
      '2',
    ]);
    expect(stopped).toEqual([`${lastId} it took too long`]);
  });

  it('renders for other accounts while the templates of one of them hang', async () => {
    const order: string[] = [];
    const hanging = [1, 2].map(() =>
      renderer
        .render(template(HANGS), variables({ list: LONG_LIST }))
        .then(() => order.push('hangs')),
    );
    for (let message = 0; message < 20; message++)
      await renderer.render(template('{{ vars.a }}', 2), variables({ a: 1 }));
    order.push('other');
    await Promise.all(hanging);
    expect(order[0]).toBe('other');
  });

  it('fails those whose data make it hang, and lets the others of the version wait for a minute', async () => {
    const hanging = template(HANGS);
    const stops = stopped.length;
    const renderings = await renderer.renderMany(
      hanging,
      Array(50).fill(variables({ list: LONG_LIST })),
    );
    expect(stopped.length - stops).toBe(2);
    expect(renderings.slice(0, 2).map(textOf)).toEqual(
      Array(2).fill('the template was stopped: it took too long'),
    );
    expect(renderings.slice(2)).toEqual(Array(48).fill({ retryAfterMs: MINUTE }));
    const harmless = variables({ list: [{ a: 'a' }] });
    now += MINUTE / 2;
    expect(await renderer.render(hanging, harmless)).toEqual({ retryAfterMs: MINUTE / 2 });
    now += MINUTE / 2;
    expect(textOf(await renderer.render(hanging, harmless))).toBe('1');
  });

  it('renders for everybody else when few people have data that make it hang', async () => {
    const mixed = template(HANGS);
    const renderings = await renderer.renderMany(
      mixed,
      Array.from({ length: 400 }, (_, at) =>
        variables({ list: at % 133 === 132 ? LONG_LIST : [{ a: 'a' }] }),
      ),
    );
    const texts = renderings.map(textOf);
    expect(texts.filter((text) => text === '1')).toHaveLength(397);
    expect(texts.filter((text) => text.includes('was stopped'))).toHaveLength(3);
  });

  it('lets all templates of an account wait when some of them took very much', async () => {
    const of = variables({ list: LONG_LIST });
    const hanging = [1, 2].map(() => template(HANGS, 31));
    const many = await Promise.all(
      hanging.map((one) => renderer.renderMany(one, Array(5).fill(of))),
    );
    expect(many.flat().filter((one) => 'error' in one)).toHaveLength(4);
    const render = (text: string, accountId: number) =>
      renderer.render(template(text, accountId), variables({})).then(textOf);
    const harmless = (accountId: number) => render('{% if true %}x{% endif %}', accountId);
    expect(await harmless(31)).toMatch(/^later: /);
    // It is rendered without a thread.
    expect(await render('y', 31)).toBe('y');
    expect(await harmless(32)).toBe('x');
    now += MINUTE;
    expect(await harmless(31)).toBe('x');
  });

  it('bounds what expensive templates of an account take, although none of them hangs', async () => {
    const sorts = 'sort_natural: "a" | sort_natural: "b" | '.repeat(2);
    const expensive = template(`{{ vars.list | ${sorts} size }}`, 41);
    const renderings = await renderer.renderMany(
      expensive,
      Array(150).fill(variables({ list: LONG_LIST })),
    );
    const waiting = renderings.filter((one) => 'retryAfterMs' in one).length;
    expect(waiting).toBeGreaterThan(50);
    expect(renderings.slice(0, 2).map(textOf).join()).not.toMatch(/later/);
  });

  it('fails nobody when its threads end in the middle of a job', async () => {
    const closing = new TemplateRenderer({ threads: 1, cpuLimits: CPU_LIMITS, now: () => now });
    const hangs = template(HANGS);
    await closing.render(hangs, variables({ list: [] }));
    const rendering = closing.render(hangs, variables({ list: LONG_LIST }));
    await closing.close();
    expect(await rendering).toEqual({ retryAfterMs: 1000 });
  });

  it('survives a message that takes too much memory', async () => {
    const small = new TemplateRenderer({ threads: 1, heapMib: 24, now: () => now });
    const huge = { list: Array.from({ length: 2_000_000 }, (_, at) => `text ${at}`) };
    const some = template('{{ vars.a }}.');
    expect(textOf(await small.render(some, variables(huge)))).toMatch(/stopped/);
    expect(textOf(await small.render(some, variables({ a: 1 })))).toBe('1.');
    await small.close();
  });

  it('keeps nothing of one person for the next one', async () => {
    const leaky = template({
      text: '{% increment n %}{% cycle "a", "b" %}{{ seen }}{% assign seen = user.name %}{% capture kept %}{{ user.name }}{% endcapture %}|{{ user.name }}',
    });
    const people = Array.from({ length: 300 }, (_, at) => ({
      ...{ user: { name: `person-${at}` }, vars: {}, event: {} },
    }));
    const renderings = await renderer.renderMany(leaky, people);
    expect(renderings.map(textOf)).toEqual(people.map(({ user }) => `0a|${user.name}`));
  });

  it('renders for each account its own template', async () => {
    const [one, other] = [template('one', 21), template('other', 22)];
    const both = await Promise.all(
      Array.from({ length: 40 }, (_, at) =>
        renderer.render(at % 2 === 0 ? one : other, variables({})).then(textOf),
      ),
    );
    expect(both).toEqual(both.map((_, at) => (at % 2 === 0 ? 'one' : 'other')));
  });

  it('refuses what waits above the bound of an account, and renders for others', async () => {
    const many = Array(6000).fill(variables({}));
    const first = renderer.renderMany(template('x', 3), many);
    await expect(renderer.renderMany(template('x', 3), many)).rejects.toThrow(RendererBusy);
    expect(textOf(await renderer.render(template('y', 4), variables({})))).toBe('y');
    expect(await first).toHaveLength(6000);
    expect(textOf(await renderer.render(template('z', 3), variables({})))).toBe('z');
  });

  it('rejects variables that are no data, and goes on', async () => {
    const user = { run: () => 1 };
    await expect(
      renderer.render(template('x{{ user.run }}'), { user, vars: {}, event: {} }),
    ).rejects.toThrow(/could not be cloned/);
    expect(textOf(await renderer.render(template('x'), variables({})))).toBe('x');
  });
});

function textOf(rendering: Awaited<ReturnType<TemplateRenderer['render']>>): string {
  if ('retryAfterMs' in rendering) return `later: ${rendering.retryAfterMs}`;
  return 'error' in rendering ? rendering.error : rendering.content.text;
}

import { describe, expect, it } from 'vitest';
import type { MessageVariables, Rendering } from '../delivery/prepare-messages.ts';
import { gatheredRenders } from './gathered-renders.ts';
import type { TemplateToRender } from './template-renderer.ts';

const TEMPLATE: TemplateToRender = {
  ...{ accountId: 1, templateId: 5, version: 1, channel: 'sms', content: { text: 'x' } },
};
const messages = (...numbers: number[]): MessageVariables[] =>
  numbers.map((n) => ({ user: {}, vars: { n }, event: {} }));

/** Answers each message with its number; keeps the jobs. */
function renderer() {
  const jobs: [version: number, messages: number][] = [];
  const render = gatheredRenders((template, variables) => {
    jobs.push([template.version, variables.length]);
    return Promise.resolve(variables.map(({ vars }): Rendering => ({ error: String(vars['n']) })));
  });
  const errors = async (template: TemplateToRender, ...numbers: number[]) =>
    (await render(template, messages(...numbers))).map((one) => ('error' in one ? one.error : ''));
  return { jobs, errors };
}

describe('messages that are rendered at the same time', () => {
  it('are one job of their version, and each caller gets its own', async () => {
    const { jobs, errors } = renderer();
    const next = { ...TEMPLATE, version: 2 };
    const answers = [errors(TEMPLATE, 1), errors(next, 2), errors(TEMPLATE, 3, 4)];
    expect(await Promise.all(answers)).toEqual([['1'], ['2'], ['3', '4']]);
    expect(jobs).toEqual([
      [1, 3],
      [2, 1],
    ]);
    expect(await errors(TEMPLATE, 5)).toEqual(['5']);
    expect(jobs).toHaveLength(3);
  });

  it('are several jobs when they are many', async () => {
    const { jobs, errors } = renderer();
    const numbers = Array.from({ length: 150 }, (_, at) => at);
    const answers = await Promise.all(numbers.map((n) => errors(TEMPLATE, n)));
    expect(answers.flat()).toEqual(numbers.map(String));
    expect(jobs).toEqual([
      [1, 100],
      [1, 50],
    ]);
  });

  it('are jobs of their own when they are drafts, which have no versions', async () => {
    const { jobs, errors } = renderer();
    const draft = { ...TEMPLATE, templateId: 0 };
    expect(await Promise.all([errors(draft, 1), errors(draft, 2)])).toEqual([['1'], ['2']]);
    expect(jobs).toHaveLength(2);
  });

  it('fail together when nothing can be rendered, and the next ones are tried', async () => {
    let isBusy = true;
    const render = gatheredRenders(() =>
      isBusy ? Promise.reject(new Error('busy')) : Promise.resolve([{ error: 'x' }]),
    );
    const failed = [render(TEMPLATE, messages(1)), render(TEMPLATE, messages(2))];
    const ends = await Promise.allSettled(failed);
    expect(ends.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    isBusy = false;
    expect(await render(TEMPLATE, messages(3))).toHaveLength(1);
  });
});

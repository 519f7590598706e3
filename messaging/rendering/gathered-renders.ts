import type { MessageVariables, Rendering } from '../delivery/prepare-messages.ts';
import type { TemplateToRender } from './template-renderer.ts';

type Render<Answer> = (
  template: TemplateToRender,
  variables: readonly MessageVariables[],
) => Promise<Answer>;

interface Job {
  variables: MessageVariables[];
  renderings: Promise<readonly Rendering[]>;
}

/** Messages of one job of the renderer. */
const MAX_MESSAGES = 100;

/**
 * Makes one job of the messages of a version that are rendered in the same turn of the event loop:
 * handing a job to a thread costs several times what a message costs there. They fail together when
 * nothing can be rendered.
 */
export function gatheredRenders(render: Render<readonly Rendering[]>): typeof render {
  const open = new Map<string, Job>();
  const newJob = (key: string, template: TemplateToRender): Job => {
    const job: Job = {
      variables: [],
      renderings: new Promise((resolve) => setImmediate(resolve)).then(() => {
        if (open.get(key) === job) open.delete(key);
        return render(template, job.variables);
      }),
    };
    open.set(key, job);
    return job;
  };
  return async (template, variables) => {
    const { accountId, templateId, version } = template;
    // A draft is not known by its version.
    if (templateId === 0 || variables.length >= MAX_MESSAGES)
      return await render(template, variables);
    const key = `${accountId}:${templateId}:${version}`;
    const known = open.get(key);
    const hasRoom = known && known.variables.length + variables.length <= MAX_MESSAGES;
    const job = hasRoom ? known : newJob(key, template);
    const from = job.variables.length;
    job.variables.push(...variables);
    return (await job.renderings).slice(from, from + variables.length);
  };
}

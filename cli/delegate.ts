import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { CommandError, type Command } from './command.ts';
import type { Ready } from './stack/ready.ts';
import { sealingEnv } from '../deploy/local/sealing-key.ts';

/** What a module that serves a command exports. */
export interface CommandModule {
  run(args: string[], context: DelegatedContext): Promise<number>;
}

export interface DelegatedContext {
  /** RAVAND_HOME, absolute. */
  home: string;
  /** The stack that runs under it; undefined while none is ready. */
  ready: Ready | undefined;
  env: NodeJS.ProcessEnv;
}

/**
 * A command whose work stands in a module of its own, loaded only when it is asked for; it reads
 * its own options.
 */
export function delegate({
  name,
  summary,
  usage,
  module,
}: {
  name: string;
  summary: string;
  usage: string;
  module: string;
}): Command {
  return {
    name,
    summary,
    usage,
    run: async (args, context) => {
      const path = join(context.checkout, module);
      if (!existsSync(path))
        throw new CommandError(
          `./ravand ${name} needs ${module}, which this checkout does not have: get the whole checkout`,
        );
      const loaded = (await import(pathToFileURL(path).href)) as CommandModule;
      return await loaded.run(args, {
        home: context.home.dir,
        ready: context.ready(),
        env: { ...context.env, ...sealingEnv(context.home, context.env) },
      });
    },
  };
}

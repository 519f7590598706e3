/** The search of the sign-in page: where to go afterwards, a path of the panel. */
export interface SignInSearch {
  next?: string;
}

/** Only paths of this origin: a link to sign-in must not lead elsewhere. */
export function readNext(search: Record<string, unknown>): SignInSearch {
  const { next } = search;
  if (typeof next !== 'string' || !/^\/(?![/\\])/.test(next) || next.startsWith('/sign-in'))
    return {};
  return next === '/' ? {} : { next };
}

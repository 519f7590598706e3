/** Stand in prerendered pages for what only the control plane knows. */
export const ACCOUNT_MARK = '[[account]]';
export const EMAIL_MARK = '[[email]]';

/** The pages of one language as HTML, as they look before their data is there. */
export interface Prerendered {
  signIn: string;
  /** What surrounds the pages of members, by role; its `<main>` is empty. */
  shells: Readonly<Record<string, string>>;
  /** Addresses of the entries of the navigation that are marked on a page, by its path. */
  current: Readonly<Record<string, readonly string[]>>;
  /** The content of `<main>`, by the path of the page and by role. */
  mains: Readonly<Record<string, Readonly<Record<string, string>>>>;
}

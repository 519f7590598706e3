export const THEMES = ['system', 'light', 'dark'] as const;
export type Theme = (typeof THEMES)[number];

const YEAR_SECONDS = 31_536_000;

/** The chosen theme: the server writes it into the document, by the cookie `theme`. */
export function currentTheme(): Theme {
  const theme = document.documentElement.dataset['theme'];
  return theme === 'light' || theme === 'dark' ? theme : 'system';
}

export function changeTheme(theme: Theme): void {
  if (theme === 'system') delete document.documentElement.dataset['theme'];
  else document.documentElement.dataset['theme'] = theme;
  const age = theme === 'system' ? 0 : YEAR_SECONDS;
  document.cookie = `theme=${theme}; Path=/; Max-Age=${age}; SameSite=Lax`;
}

import { useLingui } from '@lingui/react/macro';
import { currentLanguage } from '../../shared/language/language.ts';

/** The names of what an audience may ask; the server's labels are Persian. */
export function useNames() {
  const { t } = useLingui();
  const bands: Readonly<Record<string, string>> = {
    new: t`تازه‌وارد`,
    active: t`فعال`,
    slipping: t`در حال رفتن`,
    dormant: t`خفته`,
  };
  const readable = (name: string) => name.replaceAll('_', ' ');
  const isPersian = currentLanguage() === 'fa';
  return {
    bandName: (name: string) => bands[name] ?? name,
    attributeName: (name: string, label: string) => (isPersian ? label : readable(name)),
    metricName: (name: string, label: string) => (isPersian ? label : readable(name)),
  };
}

import { useLingui } from '@lingui/react/macro';
import { Link } from '@tanstack/react-router';
import { useSession } from '../shared/session/session.ts';
import { Icon } from '../shared/ui/icon.tsx';
import { navigationFor } from './navigation-entries.ts';
import styles from './navigation.module.css';

/** Links to the pages that the member may open. */
export function Navigation({ label }: { label: string }) {
  const { i18n } = useLingui();
  const { permissions } = useSession();
  return (
    <nav aria-label={label} className={styles['navigation']}>
      {navigationFor(permissions).map(({ label: title, entries }, at) => (
        <div key={at} className={styles['group']}>
          {title ? <h2 className={styles['title']}>{i18n._(title)}</h2> : null}
          <ul className={styles['list']}>
            {entries.map(({ to, label: text, icon }) => (
              <li key={to}>
                <Link
                  to={to}
                  className={styles['link']}
                  activeOptions={{ includeSearch: false, exact: to === '/' || to === '/settings' }}
                >
                  <Icon name={icon} />
                  {i18n._(text)}
                </Link>
              </li>
            ))}
          </ul>
        </div>
      ))}
    </nav>
  );
}

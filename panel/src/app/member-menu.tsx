import { Trans, useLingui } from '@lingui/react/macro';
import { useMutation } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { request } from '../shared/api/request.ts';
import { LanguageSwitch } from '../shared/language/language-switch.tsx';
import { useRoleName } from '../shared/session/role-name.ts';
import { useSession } from '../shared/session/session.ts';
import { changeTheme, currentTheme, THEMES } from '../shared/theme/theme.ts';
import { Disclosure } from '../shared/ui/disclosure.tsx';
import { SelectField } from '../shared/ui/field.tsx';
import { Icon } from '../shared/ui/icon.tsx';
import styles from './menu.module.css';

/** The signed-in member: own password and sessions, language, theme, sign-out. */
export function MemberMenu() {
  const { t } = useLingui();
  const roleName = useRoleName();
  const { member, role } = useSession();
  const signOut = useMutation({
    mutationFn: () => request('/api/session', { method: 'DELETE' }),
    onSuccess: () => location.assign('/sign-in'),
  });
  return (
    <>
      <LanguageSwitch />
      <Disclosure label={t`حساب کاربری شما: ${member.email}`} content={<Icon name="person" />}>
        {(close) => (
          <>
            <p className={styles['title']}>
              <span className="ltr">{member.email}</span>
              <br />
              {roleName(role)}
            </p>
            <ThemeField />
            <Link to="/me" className={styles['item']} onClick={close}>
              <Trans>گذرواژه و نشست‌های من</Trans>
            </Link>
            <button
              type="button"
              className={styles['item']}
              disabled={signOut.isPending}
              onClick={() => signOut.mutate()}
            >
              <Icon name="out" />
              <Trans>خروج</Trans>
            </button>
          </>
        )}
      </Disclosure>
    </>
  );
}

function ThemeField() {
  const { t } = useLingui();
  const [theme, setTheme] = useState(currentTheme);
  const labels = { system: t`مانند دستگاه`, light: t`روشن`, dark: t`تیره` };
  return (
    <SelectField
      label={<Trans>رنگ صفحه</Trans>}
      value={theme}
      choices={THEMES.map((value) => ({ value, label: labels[value] }))}
      onChange={(value) => {
        changeTheme(value);
        setTheme(value);
      }}
    />
  );
}

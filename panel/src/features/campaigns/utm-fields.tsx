import { Trans, useLingui } from '@lingui/react/macro';
import { TextField } from '../../shared/ui/field.tsx';
import { UTM_NAMES, type UtmName, type UtmTexts } from './utm.ts';
import styles from './campaigns.module.css';

/** What the links of a campaign carry, so that a site's reports know where visitors are from. */
export function UtmFields({
  value,
  onChange,
}: {
  value: UtmTexts;
  onChange: (value: UtmTexts) => void;
}) {
  const { t } = useLingui();
  const labels: Record<UtmName, string> = {
    source: t`منبع (utm_source)`,
    medium: t`رسانه (utm_medium)`,
    name: t`نام (utm_campaign)`,
  };
  return (
    <fieldset className={styles['utm']}>
      <legend>
        <Trans>نشان پیوندهای پیام</Trans>
      </legend>
      <p>
        <Trans>به همهٔ پیوندها افزوده می‌شود؛ آنچه خالی است افزوده نمی‌شود.</Trans>
      </p>
      <div className={styles['pair']}>
        {UTM_NAMES.map((name) => (
          <TextField
            key={name}
            label={labels[name]}
            dir="ltr"
            maxLength={256}
            value={value[name]}
            onChange={(change) => onChange({ ...value, [name]: change.target.value })}
          />
        ))}
      </div>
    </fieldset>
  );
}

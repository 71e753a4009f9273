import { useState } from 'react'
import type { SettingsReply } from '../../../src/protocol/home-api.ts'
import { useAnswer } from '../api/use-answer.ts'
import { TextField } from '../components/field.tsx'
import { Empty, Failure, Notice } from '../components/notice.tsx'
import { Section } from '../components/screen.tsx'
import { groupSettings } from './setting-groups.ts'
import { SettingRow } from './setting-row.tsx'

/** Everything that is configured, to be read: it is changed in its files, on the machine itself (SEC-4). */
export function ConfigurationTab() {
  const { data, error, refresh } = useAnswer<SettingsReply>('/settings')
  const [query, setQuery] = useState('')
  const [onlySet, setOnlySet] = useState(false)
  if (error) return <Failure error={error} onRetry={refresh} />
  if (!data) return <p className="breathing text-soft">One moment …</p>

  const words = query.toLowerCase().split(/\s+/).filter(Boolean)
  const found = data.settings.filter(
    ({ key, value, origin }) =>
      (!onlySet || origin !== 'default') && words.every((word) => `${key} ${value ?? ''}`.toLowerCase().includes(word)),
  )
  return (
    <>
      <p className="mb-4 max-w-2xl text-soft">
        To change something, edit <code className="font-mono text-sm">{data.home}/familiar.toml</code> and start
        Familiar again, or have it read the file with <code className="font-mono text-sm">kill -HUP</code>. Keys stand
        in <code className="font-mono text-sm">.env</code> beside it and are never shown.
      </p>
      <div className="mb-5 space-y-2">
        {data.problems.length > 0 && (
          <Notice kind="error">
            The files as they are now cannot be used; what was read before goes on.
            <ul className="mt-1 list-disc pl-5">
              {data.problems.map((problem) => (
                <li key={problem}>{problem}</li>
              ))}
            </ul>
          </Notice>
        )}
        {data.problems.length === 0 && !data.is_current && (
          <Notice kind="warning">
            The files have changed since they were read: what is below holds after the next start.
          </Notice>
        )}
      </div>
      <div className="mb-5 flex flex-wrap items-end gap-x-5 gap-y-2">
        <TextField
          className="w-full sm:w-72"
          label="Find a setting"
          type="search"
          value={query}
          onChange={(event) => setQuery(event.target.value)}
        />
        <label className="flex min-h-9 items-center gap-2 text-sm">
          <input type="checkbox" checked={onlySet} onChange={(event) => setOnlySet(event.target.checked)} />
          Only what is not as it comes
        </label>
      </div>
      {found.length === 0 && <Empty title="No setting fits" />}
      {groupSettings(found).map(({ name, title, about, settings }) => (
        <Section key={name} title={title}>
          {about && <p className="-mt-1 mb-2 text-sm text-soft">{about}</p>}
          <ul className="divide-y divide-line rounded-xl border border-line bg-raised">
            {settings.map((setting) => (
              <SettingRow key={setting.key} setting={setting} />
            ))}
          </ul>
        </Section>
      ))}
    </>
  )
}

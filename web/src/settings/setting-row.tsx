import type { Setting } from '../../../src/protocol/home-api.ts'
import { Badge } from '../components/badge.tsx'
import { settingWords } from './setting-words.ts'

export function SettingRow({ setting }: { setting: Setting }) {
  const { key, value, origin, place } = setting
  return (
    <li className="grid items-center gap-x-4 gap-y-0.5 px-4 py-2 text-sm sm:grid-cols-[minmax(0,1fr)_minmax(0,1fr)_10rem]">
      <code className="font-mono text-[0.8125rem]">{key}</code>
      <span className={value === null ? 'text-soft' : undefined}>{settingWords(value)}</span>
      <span className="sm:text-end">
        {origin === 'default' ? <Badge>as it comes</Badge> : <Badge kind="good">{place}</Badge>}
      </span>
    </li>
  )
}

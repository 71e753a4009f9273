import { type FormEvent, useState } from 'react'
import type { Json } from '../../../src/protocol/messages.ts'
import type { ToolFieldReply, ToolReply } from '../../../src/protocol/tools.ts'
import { call, type Reply, useAnswer } from '../api/call.ts'
import { Button } from '../components/controls.tsx'
import { Failure, useToasts } from '../components/feedback.tsx'
import { SelectField, TextField } from '../components/forms.tsx'
import { t } from '../strings/strings.ts'

type SettingKind = 'secret' | 'boolean' | 'number' | 'text'

/** A setting has no type: its default decides. */
export function settingKind({ is_secret, default: byDefault }: ToolFieldReply): SettingKind {
  if (is_secret) return 'secret'
  if (typeof byDefault === 'boolean') return 'boolean'
  return typeof byDefault === 'number' ? 'number' : 'text'
}

/** A value as text; empty for a secret. */
export function shownSetting(field: ToolFieldReply, current: Json | undefined): string {
  if (field.is_secret) return ''
  const value = current ?? field.default
  if (value === null || value === undefined) return ''
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** The typed values that differ from the saved ones. A secret without a typed value stays as it is. */
export function changedSettings(
  fields: readonly ToolFieldReply[],
  config: Readonly<Record<string, Json>>,
  typed: Readonly<Record<string, string>>,
): Record<string, Json> {
  return Object.fromEntries(
    fields.flatMap((field) => {
      const text = typed[field.key]
      if (text === undefined || text === '' || text === shownSetting(field, config[field.key])) return []
      const kind = settingKind(field)
      const number = Number(text)
      const value = kind === 'boolean' ? text === 'true' : kind === 'number' && Number.isFinite(number) ? number : text
      return [[field.key, value]]
    }),
  )
}

const yesOrNo = [
  { value: 'true', label: t.common.yes },
  { value: 'false', label: t.common.no },
]

function SettingInput(props: {
  field: ToolFieldReply
  /** Undefined where nothing is set. */
  current: Json | undefined
  typed: string | undefined
  onType(text: string): void
  onUnset(): void
}) {
  const { field, current, typed, onType, onUnset } = props
  const kind = settingKind(field)
  const isSet = current !== undefined
  const isDefault = JSON.stringify(current) === JSON.stringify(field.default)
  const label = field.is_required && !isSet ? t.tools.required(field.key) : field.key
  const value = typed ?? shownSetting(field, current)
  return (
    <div className="flex items-start gap-2">
      {kind === 'boolean' ? (
        <SelectField
          className="flex-1"
          label={label}
          hint={field.description}
          choices={yesOrNo}
          value={value}
          onChange={onType}
        />
      ) : (
        <TextField
          className="flex-1"
          label={label}
          hint={field.description}
          type={kind === 'secret' ? 'password' : 'text'}
          inputMode={kind === 'number' ? 'decimal' : undefined}
          autoComplete={kind === 'secret' ? 'new-password' : 'off'}
          placeholder={kind === 'secret' && isSet ? t.tools.setEnterNewValue : ''}
          value={value}
          onChange={(event) => onType(event.target.value)}
        />
      )}
      {isSet && !isDefault && (
        <Button kind="quiet" className="mt-6" onClick={onUnset} aria-label={t.tools.remove(field.key)}>
          {t.tools.removeTitle}
        </Button>
      )}
    </div>
  )
}

/** A form of what a tool needs. A secret goes in, and is never shown again. */
export function ToolSettingsForm({ tool, onChange }: { tool: ToolReply; onChange(): void }) {
  const toasts = useToasts()
  const { name } = tool
  const { data, error, refresh, put } = useAnswer('tools.config', { name })
  const [typed, setTyped] = useState<Record<string, string>>({})
  const [isBusy, setIsBusy] = useState(false)

  async function keep(change: () => Promise<Reply<'tools.config'>>, told: string): Promise<void> {
    setIsBusy(true)
    try {
      put(await change())
      setTyped({})
      toasts.done(told)
      onChange()
    } catch (cause) {
      toasts.failed(cause)
    } finally {
      setIsBusy(false)
    }
  }

  if (error) return <Failure error={error} onRetry={refresh} />
  if (!data) return <p className="breathing text-soft">{t.common.loading}</p>
  const changes = changedSettings(tool.configuration, data.config, typed)

  function submit(event: FormEvent): void {
    event.preventDefault()
    void keep(() => call('tools.setConfig', { name, body: changes }), t.tools.saved)
  }

  return (
    <form className="max-w-xl space-y-4" onSubmit={submit}>
      {tool.configuration.map((field) => (
        <SettingInput
          key={field.key}
          field={field}
          current={data.config[field.key]}
          typed={typed[field.key]}
          onType={(text) => setTyped((before) => ({ ...before, [field.key]: text }))}
          onUnset={() =>
            void keep(() => call('tools.deleteConfig', { name, key: field.key }), t.tools.removed(field.key))
          }
        />
      ))}
      <Button type="submit" kind="main" isBusy={isBusy} disabled={Object.keys(changes).length === 0}>
        {t.common.save}
      </Button>
    </form>
  )
}

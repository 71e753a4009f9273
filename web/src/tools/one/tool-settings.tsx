import { type FormEvent, useState } from 'react'
import type { Json } from '../../../../src/protocol/json.ts'
import type { ToolConfigReply, ToolReply } from '../../../../src/protocol/tool-api.ts'
import { ask } from '../../api/ask.ts'
import { useAnswer } from '../../api/use-answer.ts'
import { Button } from '../../components/button.tsx'
import { Failure } from '../../components/notice.tsx'
import { useToasts } from '../../components/toast.tsx'
import { SettingInput } from './setting-input.tsx'
import { changedSettings } from './settings-form.ts'

/** A form of what a tool needs. A secret goes in, and is never shown again. */
export function ToolSettings({ tool, path, onChange }: { tool: ToolReply; path: string; onChange(): void }) {
  const toasts = useToasts()
  const { data, error, refresh, put } = useAnswer<ToolConfigReply>(`${path}/config`)
  const [typed, setTyped] = useState<Record<string, string>>({})
  const [isBusy, setIsBusy] = useState(false)

  async function keep(change: () => Promise<ToolConfigReply>, told: string): Promise<void> {
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
  if (!data) return <p className="breathing text-soft">One moment …</p>
  const changes = changedSettings(tool.configuration, data.config, typed)

  function submit(event: FormEvent): void {
    event.preventDefault()
    const body: Record<string, Json> = changes
    void keep(() => ask<ToolConfigReply>(`${path}/config`, { method: 'PUT', body }), 'Saved.')
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
            void keep(
              () => ask<ToolConfigReply>(`${path}/config/${encodeURIComponent(field.key)}`, { method: 'DELETE' }),
              `${field.key} is taken away.`,
            )
          }
        />
      ))}
      <Button type="submit" kind="main" isBusy={isBusy} disabled={Object.keys(changes).length === 0}>
        Save
      </Button>
    </form>
  )
}

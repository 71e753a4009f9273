import { useState } from 'react'
import type { ToolReply } from '../../../../src/protocol/tool-api.ts'
import { ask } from '../../api/ask.ts'
import { Button } from '../../components/button.tsx'
import { useToasts } from '../../components/toast.tsx'
import { useWho } from '../../shell/who.ts'

/** Stops a tool at once, for everybody, or lets it run: also the word for one that has changed since it was approved. */
export function ToolSwitch({ tool, onChange }: { tool: ToolReply; onChange(tool: ToolReply): void }) {
  const toasts = useToasts()
  const { is_owner } = useWho()
  const [isBusy, setIsBusy] = useState(false)
  if (tool.kind !== 'contract' || !is_owner) return null

  async function set(isOn: boolean): Promise<void> {
    setIsBusy(true)
    try {
      const word = isOn ? 'enable' : 'disable'
      onChange(await ask<ToolReply>(`/tools/${encodeURIComponent(tool.name)}/${word}`, { body: {} }))
      if (isOn) toasts.done(`${tool.name} may run.`)
      else toasts.done(`${tool.name} is off.`, { label: 'Undo', run: () => void set(true) })
    } catch (error) {
      toasts.failed(error)
    } finally {
      setIsBusy(false)
    }
  }

  return tool.status === 'disabled' ? (
    <Button kind="main" isBusy={isBusy} onClick={() => void set(true)}>
      Let it run
    </Button>
  ) : (
    <Button kind="danger" isBusy={isBusy} onClick={() => void set(false)}>
      Switch off
    </Button>
  )
}

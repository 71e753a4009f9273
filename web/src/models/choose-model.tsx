import { useState } from 'react'
import type { RunCommandReply } from '../../../src/protocol/command-api.ts'
import type { ListedModel } from '../../../src/protocol/home-api.ts'
import { ask } from '../api/ask.ts'
import { Button } from '../components/button.tsx'
import { SelectField } from '../components/field.tsx'
import { useToasts } from '../components/toast.tsx'
import { useSessions } from '../talk/sessions-store.ts'

const byRoute = 'default'

/** The command /model, for a conversation that is chosen here. */
export function ChooseModel({ models }: { models: readonly ListedModel[] }) {
  const toasts = useToasts()
  const sessions = useSessions().filter(({ state }) => state === 'active')
  const [chosen, setChosen] = useState<string>()
  const [model, setModel] = useState(byRoute)
  const [isBusy, setIsBusy] = useState(false)
  const session = chosen ?? sessions[0]?.id
  if (session === undefined) return <p className="text-soft">There is no conversation yet.</p>

  async function choose(): Promise<void> {
    setIsBusy(true)
    try {
      const { ok, text } = await ask<RunCommandReply>('/commands', { body: { line: `/model ${model}`, session } })
      if (ok) toasts.done(text)
      else toasts.failed(text)
    } catch (error) {
      toasts.failed(error)
    } finally {
      setIsBusy(false)
    }
  }

  return (
    <div className="flex flex-wrap items-end gap-3">
      <SelectField
        className="w-full sm:w-64"
        label="Conversation"
        choices={sessions.map(({ id, title, contact }) => ({ value: id, label: title ?? contact }))}
        value={session}
        onChange={setChosen}
      />
      <SelectField
        className="w-full sm:w-64"
        label="Model"
        choices={[
          { value: byRoute, label: 'As the configuration says' },
          ...models.map(({ id }) => ({ value: id, label: id })),
        ]}
        value={model}
        onChange={setModel}
      />
      <Button isBusy={isBusy} onClick={() => void choose()}>
        Use it there
      </Button>
    </div>
  )
}

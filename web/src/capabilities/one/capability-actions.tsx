import { type FormEvent, useState } from 'react'
import type { BuildReply } from '../../../../src/protocol/build-api.ts'
import type { CapabilityReply } from '../../../../src/protocol/capability-api.ts'
import { ask } from '../../api/ask.ts'
import { Button } from '../../components/button.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { TextArea } from '../../components/field.tsx'
import { useToasts } from '../../components/toast.tsx'
import { go } from '../../shell/router.ts'

interface CapabilityActionsProps {
  capability: CapabilityReply
  path: string
  onChange(capability: CapabilityReply): void
  onRefresh(): void
}

/** The switch, and having it mended. */
export function CapabilityActions({ capability, path, onChange, onRefresh }: CapabilityActionsProps) {
  const toasts = useToasts()
  const [isBusy, setIsBusy] = useState(false)
  const [isRepairing, setIsRepairing] = useState(false)
  const { name, state, version, needs_approval } = capability

  async function set(isOn: boolean): Promise<void> {
    setIsBusy(true)
    try {
      onChange(await ask<CapabilityReply>(`${path}/${isOn ? 'enable' : 'disable'}`, { body: {} }))
      if (isOn) toasts.done(`${name} may run.`)
      // What was imported is let run on the machine itself alone.
      else toasts.done(`${name} is off.`, capability.origin === 'imported' ? undefined : undo)
    } catch (error) {
      toasts.failed(error)
    } finally {
      setIsBusy(false)
    }
  }
  const undo = { label: 'Undo', run: () => void set(true) }

  return (
    <>
      {version !== null && state !== 'building' && !needs_approval && (
        <Button onClick={() => setIsRepairing(true)}>Have it mended</Button>
      )}
      {version !== null && state === 'disabled' && !needs_approval && (
        <Button kind="main" isBusy={isBusy} onClick={() => void set(true)}>
          Let it run
        </Button>
      )}
      {version !== null && state !== 'disabled' && (
        <Button kind="danger" isBusy={isBusy} onClick={() => void set(false)}>
          Switch off
        </Button>
      )}
      <RepairDialog
        path={path}
        isOpen={isRepairing}
        onClose={() => {
          setIsRepairing(false)
          onRefresh()
        }}
      />
    </>
  )
}

function RepairDialog({ path, isOpen, onClose }: { path: string; isOpen: boolean; onClose(): void }) {
  const toasts = useToasts()
  const [problem, setProblem] = useState('')
  const [isBusy, setIsBusy] = useState(false)

  async function repair(event: FormEvent): Promise<void> {
    event.preventDefault()
    setIsBusy(true)
    try {
      const body = problem.trim() === '' ? {} : { problem: problem.trim() }
      const build = await ask<BuildReply>(`${path}/repair`, { body })
      onClose()
      go(`/capabilities?build=${build.id}`)
    } catch (error) {
      toasts.failed(error)
    } finally {
      setIsBusy(false)
    }
  }

  return (
    <Dialog
      isOpen={isOpen}
      onClose={onClose}
      title="Have it mended"
      description="A new version is written and tried in the background. The one that is there serves until it passes."
    >
      <form className="space-y-3" onSubmit={(event) => void repair(event)}>
        <TextArea
          label="What is wrong with it?"
          hint="May stay empty: what failed last is known."
          maxLength={4_000}
          value={problem}
          onChange={(event) => setProblem(event.target.value)}
        />
        <Button type="submit" kind="main" isBusy={isBusy}>
          Begin
        </Button>
      </form>
    </Dialog>
  )
}

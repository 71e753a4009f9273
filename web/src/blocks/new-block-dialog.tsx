import { type FormEvent, useState } from 'react'
import type { AssetWrittenReply } from '../../../src/protocol/asset-api.ts'
import { ApiError, ask } from '../api/ask.ts'
import { Button } from '../components/button.tsx'
import { Dialog } from '../components/dialog.tsx'
import { TextField } from '../components/field.tsx'
import { go } from '../shell/router.ts'
import { apiPath, labelOf, placeOf } from './block-label.ts'

/** Begins a block; a name that is taken leads to no other text being lost. */
export function NewBlockDialog({ onClose }: { onClose(): void }) {
  const [label, setLabel] = useState('')
  const [problem, setProblem] = useState<string>()
  const [isBusy, setIsBusy] = useState(false)

  async function create(event: FormEvent): Promise<void> {
    event.preventDefault()
    setIsBusy(true)
    try {
      const content = `# ${label.trim().replace(/^.*\//, '').replace(/\.md$/, '')}\n`
      const written = await ask<AssetWrittenReply>(apiPath(label.trim()), {
        method: 'PUT',
        body: { content, etag: null },
      })
      go(placeOf(labelOf(written.path)))
    } catch (error) {
      const isTaken = error instanceof ApiError && error.status === 409 && /changed in the meantime/.test(error.message)
      setProblem(isTaken ? 'There is a block of this name already.' : (error as Error).message)
      setIsBusy(false)
    }
  }

  return (
    <Dialog isOpen onClose={onClose} title="New block">
      <form className="space-y-3" onSubmit={(event) => void create(event)}>
        <TextField
          label="Name"
          autoFocus
          maxLength={200}
          placeholder="projects/garden"
          hint="Letters, digits, spaces and . _ - and / for folders."
          error={problem}
          value={label}
          onChange={(event) => setLabel(event.target.value)}
        />
        <Button type="submit" kind="main" isBusy={isBusy} disabled={label.trim() === ''}>
          Create
        </Button>
      </form>
    </Dialog>
  )
}

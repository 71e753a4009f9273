import { type FormEvent, useState } from 'react'
import type { PinReply } from '../../../src/protocol/asset-api.ts'
import { Button } from '../components/button.tsx'
import { Dialog } from '../components/dialog.tsx'
import { TextField } from '../components/field.tsx'
import { useToasts } from '../components/toast.tsx'
import { go } from '../shell/router.ts'
import { placeOf } from './block-label.ts'
import { renameBlock } from './rename-block.ts'
import type { Block } from './use-block.ts'

export function RenameDialog(props: { label: string; block: Block; pin: PinReply | undefined; onClose(): void }) {
  const { label, block, pin, onClose } = props
  const toasts = useToasts()
  const [name, setName] = useState(label)
  const [problem, setProblem] = useState<string>()
  const [isBusy, setIsBusy] = useState(false)

  async function rename(event: FormEvent): Promise<void> {
    event.preventDefault()
    setIsBusy(true)
    try {
      const renamed = await renameBlock({ label, to: name.trim(), block, position: pin?.position })
      toasts.done(`It is called ${renamed} now. Its earlier versions stay under ${label}.`)
      go(placeOf(renamed), { replace: true })
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error))
      setIsBusy(false)
    }
  }

  return (
    <Dialog isOpen onClose={onClose} title="Rename">
      <form className="space-y-3" onSubmit={(event) => void rename(event)}>
        <TextField
          label="Name"
          autoFocus
          maxLength={200}
          error={problem}
          value={name}
          onChange={(event) => setName(event.target.value)}
        />
        <Button type="submit" kind="main" isBusy={isBusy} disabled={name.trim() === '' || name.trim() === label}>
          Rename
        </Button>
      </form>
    </Dialog>
  )
}

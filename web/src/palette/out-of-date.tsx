import { Button } from '../components/button.tsx'
import { Dialog } from '../components/dialog.tsx'

/** In place of a part of the page that can no longer be fetched: a newer Familiar has replaced it. */
export function OutOfDate({ onClose }: { onClose(): void }) {
  return (
    <Dialog
      isOpen
      onClose={onClose}
      title="This page is out of date"
      description="Familiar was updated, or does not answer. Loading the page again helps; nothing that was sent is lost."
    >
      <Button kind="main" onClick={() => location.reload()}>
        Load the page again
      </Button>
    </Dialog>
  )
}

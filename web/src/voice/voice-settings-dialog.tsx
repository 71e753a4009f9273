import { Dialog } from '../components/dialog.tsx'
import { VoiceSettingsForm } from './voice-settings-form.tsx'

export function VoiceSettingsDialog({ isOpen, onClose }: { isOpen: boolean; onClose(): void }) {
  return (
    <Dialog isOpen={isOpen} onClose={onClose} title="Voice" description="Kept in this browser.">
      <VoiceSettingsForm />
    </Dialog>
  )
}

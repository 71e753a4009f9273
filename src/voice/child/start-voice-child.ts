import { startModelChild } from '../../base/start-model-child.ts'
import type { StartVoiceChild } from './asked-child.ts'
import type { VoiceKind } from './child-messages.ts'

/** `folder` is where all voice files are. */
export function startVoiceChild(kind: VoiceKind, folder: string): StartVoiceChild {
  const command = {
    program: new URL('./voice-child.ts', import.meta.url),
    args: [kind, folder],
    // Kokoro names a newer set of operators (ai.onnx.ml 5) than this runtime knows, and uses none of it.
    environment: { ALLOW_RELEASED_ONNX_OPSET_ONLY: '0' },
  }
  return (events) => startModelChild(command, events)
}

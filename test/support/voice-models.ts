import { systemClock } from '../../src/base/clock.ts'
import { createInstalledParts } from '../../src/models/speech/voice-parts.ts'

/**
 * The folder that `familiar voice install` has filled, where the environment names one (`FAMILIAR_TEST_VOICE`). Tests that
 * need a model skip without it, and say so: nothing is fetched for a test.
 */
export const voiceModels: string | undefined = process.env.FAMILIAR_TEST_VOICE

const isInstalled = createInstalledParts(voiceModels ?? '/nowhere', systemClock())

export const hasSpeechModel = isInstalled('kokoro-82m')
export const hasTranscriptionModel = isInstalled('whisper-tiny') && isInstalled('opus-decoder')

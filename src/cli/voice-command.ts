import type { Command } from 'commander'
import { handlers, type LoadHandler } from './handlers.ts'
import type { DefineCommand } from './memory-command.ts'

/** `familiar voice …`: speech on this machine itself, which is fetched only here. */
export function addVoiceCommands(program: Command, define: DefineCommand): Command {
  const voice = program.command('voice').description('speech on this machine: models, saying, writing down')
  voice.addHelpText('after', examples)
  const add = (name: string, description: string, load: LoadHandler) => define(name, description, load, voice)

  add('status', 'what speaks and what writes down, and what is installed', handlers.voiceStatus)
  add('install', 'fetch the models (both, or the ones that you name)', handlers.voiceInstall)
    .option('--speech', 'a voice: Kokoro-82M, 89 MB')
    .option('--transcription', 'writing down: whisper-tiny, 29 MB')
  add('say', 'say a text, as [tools.tts] has it', handlers.voiceSay)
    .argument('<text>', 'the text; - reads standard input')
    .option('-o, --out <file>', 'where the sound goes (default: speech.wav or speech.mp3 here)')
    .option('--voice <name>', 'another voice than that of the configuration')
    .option('--local', 'with the model on this machine, whatever the configuration says')
  add('transcribe', 'write down what a recording says', handlers.voiceTranscribe).argument('<file>', 'WAV or OGG')
  add('remove', 'remove the models from this machine', handlers.voiceRemove).option('-y, --yes', 'do not ask')
  return voice
}

const examples = `
Examples:
  familiar voice install
  familiar voice say "Good morning" --local --voice bf_emma -o morning.wav
  familiar voice transcribe note.ogg

To have Familiar speak with it: provider = "local" under [tools.tts] in familiar.toml. Writing down needs no setting.`

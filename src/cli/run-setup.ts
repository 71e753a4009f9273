import type { CommandHandler } from './command.ts'
import { runSetup } from './setup-command.ts'

export const setup: CommandHandler<object> = ({ homePath, env, output, stdin, stdout }) =>
  runSetup({
    home: homePath,
    env,
    output,
    isInteractive: stdin.isTTY === true && stdout.isTTY === true,
    now: Date.now,
  })

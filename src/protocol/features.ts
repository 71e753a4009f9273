import * as api from './api.ts'
import * as channels from './channels.ts'
import * as commands from './commands.ts'
import * as customTools from './custom-tools.ts'
import * as files from './files.ts'
import * as memory from './memory.ts'
import * as openai from './openai.ts'
import * as organize from './organize.ts'
import * as page from './page.ts'
import * as permissions from './permissions.ts'
import * as schedules from './schedules.ts'
import * as search from './search.ts'
import * as setup from './setup.ts'
import * as status from './status.ts'
import * as tools from './tools.ts'
import * as users from './users.ts'

/** Every feature of the HTTP API with its schemas and operations, for what describes all of them. */
export const features = [
  api,
  channels,
  commands,
  customTools,
  files,
  memory,
  openai,
  organize,
  page,
  permissions,
  schedules,
  search,
  setup,
  status,
  tools,
  users,
] as const

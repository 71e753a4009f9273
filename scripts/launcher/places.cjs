'use strict'

const fs = require('fs')
const os = require('os')
const path = require('path')

const root = path.join(__dirname, '..', '..')
// A package may be in a read-only folder, and npm replaces it as a whole. src/base/files.ts has the same path.
const isPackage = !fs.existsSync(path.join(root, 'src'))
const runtime = isPackage ? path.join(os.homedir(), '.cache', 'familiar') : path.join(root, '.runtime')

exports.isPackage = isPackage
exports.root = root
exports.runtime = runtime
exports.lock = path.join(runtime, 'lock')
exports.stamp = path.join(runtime, 'dependencies.json')
exports.models = path.join(runtime, 'models')
exports.embeddingStamp = path.join(runtime, 'embedding-model.json')
exports.sandbox = path.join(runtime, 'bubblewrap')
exports.sandboxStamp = path.join(runtime, 'bubblewrap.json')
exports.compileCache = path.join(runtime, 'compile-cache')
exports.lockFile = path.join(root, 'package-lock.json')
exports.manifest = path.join(root, 'package.json')
exports.help = path.join(root, 'dist', 'help.txt')
exports.modules = path.join(root, 'node_modules')
// npm writes it last, so it describes the whole tree.
exports.record = path.join(root, 'node_modules', '.package-lock.json')

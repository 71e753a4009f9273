'use strict'

const path = require('path')

const root = path.join(__dirname, '..', '..')
const runtime = path.join(root, '.runtime')

exports.root = root
exports.runtime = runtime
exports.lock = path.join(runtime, 'lock')
exports.stamp = path.join(runtime, 'dependencies.json')
exports.models = path.join(runtime, 'models')
exports.embeddingStamp = path.join(runtime, 'embedding-model.json')
exports.compileCache = path.join(runtime, 'compile-cache')
exports.lockFile = path.join(root, 'package-lock.json')
exports.manifest = path.join(root, 'package.json')
exports.modules = path.join(root, 'node_modules')
// npm writes it last, so that its content stands for the whole tree.
exports.record = path.join(root, 'node_modules', '.package-lock.json')

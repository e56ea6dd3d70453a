// Visibility: everything is hidden unless it is marked as part of the public interface.
#pragma once

#define ISENTROPIC_API __attribute__((visibility("default")))

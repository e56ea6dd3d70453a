// Eigen's divide-and-conquer SVD, compiled in one place: each further instantiation would take half a minute.
#pragma once

#include <Eigen/Dense>

extern template class Eigen::BDCSVD<Eigen::MatrixXd>;
